-- True if the content of job q still equals that of the finding's guard. `seen.version` is a guard or a version.
       CASE WHEN seen.version LIKE 'same:%'
            THEN jsonb_build_object('content', CASE WHEN pg_column_size(q.content) < 2000 THEN md5(q.content::text) ELSE pg_column_size(q.content)::text END)
                 @> substr(seen.version, 6)::jsonb
            ELSE false END
