-- unchanged: the content of job q still equals that of the finding's guard, or the one that was edited; steady is its digest.
-- `seen.version` is a guard or a version.
       CASE WHEN seen.version LIKE 'same:%'
            THEN jsonb_build_object('content', CASE WHEN pg_column_size(q.content) < 2000 THEN md5(q.content::text) ELSE pg_column_size(q.content)::text END,
                                    'document', encode(sha256(convert_to(q.content::text, 'UTF8')), 'hex'))
                 @> substr(seen.version, 6)::jsonb
            ELSE false END AS unchanged,
       encode(sha256(convert_to(q.content::text, 'UTF8')), 'hex') AS steady
