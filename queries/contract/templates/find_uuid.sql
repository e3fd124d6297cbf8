-- :each
(SELECT :id AS id, CASE WHEN length(replace(:query, '-', '')) = 32 THEN 'id' ELSE 'beginning' END AS matched
   FROM :"schema".:table AS t
  WHERE t.:key BETWEEN CASE WHEN :query ~* '^[0-9a-f-]{1,36}$' AND length(replace(:query, '-', '')) BETWEEN 1 AND 32
                            THEN rpad(replace(:query, '-', ''), 32, '0')::uuid END
                   AND CASE WHEN :query ~* '^[0-9a-f-]{1,36}$' AND length(replace(:query, '-', '')) BETWEEN 1 AND 32
                            THEN rpad(replace(:query, '-', ''), 32, 'f')::uuid END
  ORDER BY t.:key
  LIMIT :limit)
