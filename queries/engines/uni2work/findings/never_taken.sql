-- Waits for a worker while others are taken: it fails at once and goes back, or the code cannot read it.
-- kinds: job
-- $1 ids text[]: only for these local ids, or NULL
-- $2 limits jsonb
-- $3 page int: how many at most
-- Index: queued_job_pkey, both ends.
WITH
\ir ../parts/untaken.sql
(SELECT 'job:' || p.id AS id, extract(epoch FROM p.creation_time)::float8 AS since,
        jsonb_build_object('created_at', date_trunc('second', p.creation_time)::text, 'waiting', p.waiting, 'of', p.n,
                           'why', 'it fails at once and goes back, or the application cannot read it') AS evidence,
        true AS suggest
   FROM passed p
  ORDER BY p.creation_time, p.id)
UNION ALL
SELECT NULL, NULL, NULL, NULL WHERE $1::text[] IS NULL AND EXISTS (SELECT FROM :"schema".queued_job ORDER BY id OFFSET ($2::jsonb ->> 'head')::float8::int)
