-- Find jobs that wait while workers take others: they fail at once and return, or the application cannot read them.
-- Index: both ends of queued_job_pkey; one lookup per found row.
WITH \ir ../parts/placed.sql
, \ir ../parts/late.sql
, skipped AS MATERIALIZED (SELECT l.* FROM late l WHERE l.others ORDER BY l.creation_time, l.id LIMIT :limit),
jobs AS (SELECT s.*, q.content FROM skipped s JOIN :"schema".queued_job q ON q.id = s.id),
\ir ../parts/kinds.sql
(SELECT 'job:' || p.id AS id, extract(epoch FROM p.creation_time)::float8 AS since,
        jsonb_build_object('created_at', date_trunc('second', p.creation_time)::text, 'waiting', p.waiting, 'of', p.n,
                           'why', 'It fails at once and returns to the queue, or the application cannot read it', 'kind', p.kind) AS evidence,
        p.proven AS suggest
   FROM kinds p
  ORDER BY p.creation_time, p.id)
UNION ALL
SELECT NULL, NULL, NULL, NULL WHERE :ids IS NULL AND EXISTS (SELECT FROM :"schema".queued_job ORDER BY id OFFSET :head::int)
