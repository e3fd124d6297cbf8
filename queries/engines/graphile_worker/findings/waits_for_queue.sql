-- Jobs that are due for long and wait for their queue.
-- needs: available
-- needs of ids: none
-- Indexes: jobs_main_index, jobs_pkey1, job_queues_pkey1.
WITH
\ir ../parts/due.sql
(SELECT 'job:' || j.id AS id, extract(epoch FROM j.run_at)::float8 AS since,
        jsonb_build_object('due', date_trunc('second', j.run_at)::text, 'queue', q.queue_name, 'worker', coalesce(q.locked_by, '?'),
                           'locked', date_trunc('second', q.locked_at)::text) AS evidence
   FROM due j
  CROSS JOIN LATERAL (SELECT i.queue_name, i.locked_at, i.locked_by FROM :"schema"._private_job_queues i
                       WHERE i.id = j.job_queue_id AND NOT i.is_available LIMIT 1) AS q
  WHERE j.run_at < now() - :overdue
  ORDER BY j.run_at, j.id
  LIMIT :page)
UNION ALL
SELECT NULL, NULL, NULL WHERE (SELECT count(*) FROM due) = 5000
