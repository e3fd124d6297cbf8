-- Jobs that are executing for longer than the threshold. Without ids, 2,000 executing jobs are checked.
-- Indexes: the one on oban_jobs(state, queue, priority, scheduled_at, id), oban_jobs_pkey.
WITH
\ir ../parts/executing.sql
(SELECT 'job:' || j.id AS id, extract(epoch FROM j.attempted_at)::float8 AS since,
        jsonb_build_object('attempted', date_trunc('second', j.attempted_at)::text, 'age', date_trunc('second', timezone('UTC', now()) - j.attempted_at)::text,
          'node', coalesce(j.attempted_by[1], 'an unknown node')) AS evidence
   FROM executing j
  WHERE j.attempted_at < timezone('UTC', now()) - :executing
  ORDER BY j.attempted_at, j.id
  LIMIT :page)
UNION ALL
SELECT NULL, NULL, NULL WHERE :ids IS NULL AND (SELECT count(*) FROM executing) > 2000
