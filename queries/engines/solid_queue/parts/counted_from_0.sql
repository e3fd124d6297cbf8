-- The arguments with both counts of executions at 0. The text of all other members stays as it is, also numbers, duplicate keys and
-- escapes: jsonb would spell it in another way. json_each refuses \u0000 and single surrogates, so each backslash is
-- replaced by a control character while it reads: JSON has none in a string.
       CASE WHEN ltrim(j.arguments, E' \t\r\n') LIKE '{%' THEN
         (SELECT '{' || string_agg('"' || replace(replace(replace(m.key, chr(1), '\'), chr(2), '\"'), chr(3), '\\') || '":'
                                   || replace(replace(replace(m.value, chr(1), '\'), chr(2), '\"'), chr(3), '\\'), ',' ORDER BY m.n, m.key DESC) || '}'
            FROM (SELECT replace(replace(replace(replace(replace(replace(j.arguments, '\\', chr(3)), '\"', chr(2)), '\', chr(1)),
                                                 chr(1), '\u0001'), chr(2), '\u0002'), chr(3), '\u0003')::json AS text) AS a
           CROSS JOIN LATERAL (
             SELECT e.n, e.key, CASE e.key WHEN 'executions' THEN '0' WHEN 'exception_executions' THEN '{}'
                                           ELSE replace(replace(replace(e.value::text, '\u0001', chr(1)), '\u0002', chr(2)), '\u0003', chr(3)) END
               FROM json_each(a.text) WITH ORDINALITY AS e(key, value, n)
             UNION ALL
             SELECT NULL, z.key, z.value
               FROM (VALUES ('executions', '0'), ('exception_executions', '{}')) AS z(key, value)
              WHERE a.text -> z.key IS NULL) AS m(n, key, value))
         ELSE j.arguments END
