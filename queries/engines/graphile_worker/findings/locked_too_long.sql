-- Jobs that are locked for long, while a worker is connected that began before.
-- needs: locked
-- needs of ids: none
-- Indexes: one on (locked_at) of locked jobs, jobs_pkey1, job_queues_pkey1.
WITH
\ir ../parts/sessions.sql
,
\ir ../parts/locked.sql
(SELECT 'job:' || j.id AS id, extract(epoch FROM j.locked_at)::float8 AS since,
        jsonb_build_object('worker', coalesce(j.locked_by, '?'), 'locked', date_trunc('second', j.locked_at)::text, 'queue', q.queue_name, 'sessions', s.text) AS evidence
   FROM locked j
  CROSS JOIN sessions s
   LEFT JOIN LATERAL (SELECT i.queue_name, i.is_available FROM :"schema"._private_job_queues i WHERE i.id = j.job_queue_id LIMIT 1) AS q ON true
  WHERE j.locked_at >= s.oldest AND j.locked_at < now() - :locked_too_long
  ORDER BY j.locked_at, j.id
  LIMIT :page)
UNION ALL
SELECT NULL, NULL, NULL WHERE (SELECT count(*) FROM locked) = 5000
