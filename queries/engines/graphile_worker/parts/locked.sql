-- Begin of a finding about locked jobs `j`, with the sessions `s` of workers. The file continues with WHERE.
WITH
\ir sessions.sql
,
-- 5,000 at most, or those that are asked for.
locked AS MATERIALIZED (
  (SELECT j.id, j.task_id, j.job_queue_id, j.priority, j.run_at, j.locked_at, j.locked_by FROM :"schema"._private_jobs j
    WHERE :ids IS NULL AND j.locked_at IS NOT NULL ORDER BY j.locked_at LIMIT 5000)
  UNION ALL
  SELECT j.id, j.task_id, j.job_queue_id, j.priority, j.run_at, j.locked_at, j.locked_by FROM :"schema"._private_jobs j
   WHERE j.locked_at IS NOT NULL AND j.id = ANY (ARRAY(SELECT substr(i, 5)::int8 FROM unnest(:ids) AS i WHERE i ~ '^job:[0-9]{1,18}$'))
)
(SELECT 'job:' || j.id AS id, extract(epoch FROM j.locked_at)::float8 AS since,
        jsonb_build_object('worker', coalesce(j.locked_by, '?'), 'locked', date_trunc('second', j.locked_at)::text, 'queue', q.queue_name, 'sessions', s.text) AS evidence
   FROM locked j
  CROSS JOIN sessions s
   LEFT JOIN LATERAL (SELECT i.queue_name, i.is_available FROM :"schema"._private_job_queues i WHERE i.id = j.job_queue_id LIMIT 1) AS q ON true
