-- An instance without a time, or a time without an instance: the columns are nullable separately, and nothing forbids
-- it, but the application writes both or neither.
-- kinds: job
-- $1 ids text[]: only for these local ids, or NULL
-- $2 limits jsonb
-- $3 have text[]
-- $4 page int: how many at most
-- Indexes: queued_job_pkey from its beginning, and one on queued_job(lock_time) where there is one.
WITH
\ir ../parts/locks.sql
(SELECT 'job:' || l.id AS id, extract(epoch FROM coalesce(l.lock_time, q.creation_time))::float8 AS since,
        jsonb_build_object('there', CASE WHEN l.lock_time IS NULL THEN 'lock_instance ' || l.lock_instance ELSE 'lock_time ' || l.lock_time END,
                           'missing', CASE WHEN l.lock_time IS NULL THEN 'lock_time' ELSE 'lock_instance' END) AS evidence
   FROM locked l JOIN :"schema".queued_job q ON q.id = l.id
  WHERE (l.lock_instance IS NULL) <> (l.lock_time IS NULL)
    AND ($1::text[] IS NULL OR 'job:' || l.id = ANY ($1::text[]))
  ORDER BY l.id
  LIMIT $4::int)
UNION ALL
SELECT NULL, NULL, NULL WHERE $1::text[] IS NULL AND EXISTS (SELECT FROM :"schema".queued_job ORDER BY id OFFSET ($2::jsonb ->> 'window')::float8::int)
