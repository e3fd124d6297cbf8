-- Kind of the job `q`: the value of "job", else of "tag", else the first key.
       left(coalesce(CASE WHEN jsonb_typeof(q.content -> 'job') = 'string' THEN nullif(q.content ->> 'job', '') END,
                     CASE WHEN jsonb_typeof(q.content -> 'tag') = 'string' THEN nullif(q.content ->> 'tag', '') END,
                     CASE WHEN jsonb_typeof(q.content) = 'object' THEN (SELECT nullif(k, '') FROM jsonb_object_keys(q.content) AS k LIMIT 1) END,
                     '(unrecognised)'), 80)
