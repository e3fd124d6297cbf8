         (SELECT CASE WHEN octet_length(o.text) > 1048576 THEN octet_length(o.text) || ' bytes, md5 ' || md5(o.text) ELSE o.text END
            FROM (SELECT q.content::text OFFSET 0) AS o(text))
