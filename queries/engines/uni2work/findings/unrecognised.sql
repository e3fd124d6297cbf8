-- Find content that is not an object with a "job" key. The application never deletes a row that it cannot read.
-- kinds: job
-- $1 ids text[]: restrict to these local ids; NULL for all
-- $2 settings jsonb
-- $3 page int: maximum number of rows
-- Index: the start of queued_job_pkey.
(SELECT 'job:' || w.id AS id, extract(epoch FROM w.creation_time)::float8 AS since,
        jsonb_build_object('sort', jsonb_typeof(w.content), 'content', left(w.content::text, 60)) AS evidence,
        w.lock_instance IS NULL AND w.lock_time IS NULL AS suggest
   FROM (SELECT q.id, q.content, q.creation_time, q.lock_instance, q.lock_time FROM :"schema".queued_job q ORDER BY q.id LIMIT ($2::jsonb ->> 'head')::float8::int) AS w
  WHERE jsonb_typeof(w.content -> 'job') IS DISTINCT FROM 'string'
    AND ($1::text[] IS NULL OR 'job:' || w.id = ANY ($1::text[]))
  ORDER BY w.id
  LIMIT $3::int)
UNION ALL
SELECT NULL, NULL, NULL, NULL WHERE $1::text[] IS NULL AND EXISTS (SELECT FROM :"schema".queued_job ORDER BY id OFFSET ($2::jsonb ->> 'head')::float8::int)
