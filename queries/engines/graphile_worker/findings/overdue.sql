-- Jobs that are due for long and whose queue is free.
-- needs: available
-- needs of ids: none
-- Indexes: jobs_main_index, jobs_pkey1, job_queues_pkey1, tasks_pkey.
WITH
\ir ../parts/sessions.sql
,
\ir ../parts/due.sql
(SELECT 'job:' || j.id AS id, extract(epoch FROM j.run_at)::float8 AS since,
        jsonb_build_object('task', coalesce(k.identifier, j.task_id::text), 'due', date_trunc('second', j.run_at)::text, 'sessions', s.text) AS evidence
   FROM due j
  CROSS JOIN sessions s
   LEFT JOIN LATERAL (SELECT i.identifier FROM :"schema"._private_tasks i WHERE i.id = j.task_id LIMIT 1) AS k ON true
   LEFT JOIN LATERAL (SELECT i.queue_name, i.is_available FROM :"schema"._private_job_queues i WHERE i.id = j.job_queue_id LIMIT 1) AS q ON true
  WHERE j.run_at < now() - :overdue AND q.is_available IS NOT FALSE
  ORDER BY j.run_at, j.id
  LIMIT :page)
UNION ALL
SELECT NULL, NULL, NULL WHERE (SELECT count(*) FROM due) = 5000
