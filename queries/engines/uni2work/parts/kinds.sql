-- The rows of `jobs`, which the including file has, each with the kind of its content: the value of "job", else of
-- "tag", else the first key.
kinds AS (
  SELECT q.*,
         left(coalesce(CASE WHEN jsonb_typeof(q.content -> 'job') = 'string' THEN nullif(q.content ->> 'job', '') END,
                       CASE WHEN jsonb_typeof(q.content -> 'tag') = 'string' THEN nullif(q.content ->> 'tag', '') END,
                       CASE WHEN jsonb_typeof(q.content) = 'object' THEN (SELECT nullif(k, '') FROM jsonb_object_keys(q.content) AS k LIMIT 1) END,
                       '(unrecognised)'), 80) AS kind
    FROM jobs q
)
