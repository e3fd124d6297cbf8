-- Jobs, schedules and entrypoints by id, one row for each that exists. An entrypoint exists if a job of it is queued,
-- is among the first 1,000 that run, or is in the newest 2,000 log entries.
-- Indexes: pgqueuer_pkey, pgqueuer_log_job_id_status, pgqueuer_schedules_pkey, pgqueuer_ep_ea_idx,
-- pgqueuer_picked_heartbeat_idx, pgqueuer_log_created.
WITH names AS MATERIALIZED (SELECT DISTINCT substr(i, 12) AS name FROM unnest(:ids) AS i WHERE i LIKE 'entrypoint:%'),
picked AS MATERIALIZED (
  SELECT DISTINCT p.entrypoint
    FROM (SELECT j.entrypoint FROM :"schema".:"pgqueuer" j WHERE EXISTS (SELECT FROM names) AND j.status = 'picked' ORDER BY j.heartbeat LIMIT 1000) AS p
),
logged AS MATERIALIZED (
  SELECT DISTINCT l.entrypoint
    FROM (SELECT g.entrypoint FROM :"schema".:"pgqueuer_log" g WHERE EXISTS (SELECT FROM names) ORDER BY g.created DESC LIMIT 2000) AS l
)
SELECT 'job:' || j.id AS id, 'entrypoint:' || j.entrypoint AS parent_id, 'job' AS kind, j.entrypoint || ' ' || j.id AS title,
       j.status::text AS status,
       CASE j.status::text WHEN 'queued' THEN CASE WHEN j.execute_after > now() THEN 'scheduled' ELSE 'ready' END END AS phase,
       extract(epoch FROM j.created)::float8 AS created_at, extract(epoch FROM j.updated)::float8 AS changed_at,
       CASE WHEN j.status = 'queued' THEN extract(epoch FROM j.execute_after)::float8 END AS due_at,
       j.queue_manager_id::text AS owner, CASE WHEN j.status = 'picked' THEN extract(epoch FROM j.heartbeat)::float8 END AS heartbeat_at,
       j.attempts::int8 AS attempts, CASE WHEN j.status = 'failed' THEN e.error END AS error,
       j.xmin::text AS version, extract(epoch FROM now())::float8 AS now
  FROM :"schema".:"pgqueuer" j
 CROSS JOIN LATERAL ( -- the exception in the newest of its log entries, if that has one
   SELECT max((l.traceback ->> 'exception_type') || ': ' || (l.traceback ->> 'exception_message')) AS error
     FROM (SELECT x.traceback FROM :"schema".:"pgqueuer_log" x
            WHERE x.job_id >= j.id AND x.job_id <= j.id ORDER BY x.job_id, x.created DESC LIMIT 1) AS l
 ) AS e
 WHERE j.id = ANY (:job_keys)
UNION ALL
SELECT 'schedule:' || s.id, NULL, 'schedule', s.entrypoint || ' - ' || s.expression, s.status::text,
       CASE WHEN s.status = 'picked' THEN NULL WHEN s.next_run > now() THEN 'scheduled' ELSE 'ready' END,
       extract(epoch FROM s.created)::float8, extract(epoch FROM s.updated)::float8, extract(epoch FROM s.next_run)::float8, NULL,
       CASE WHEN s.status = 'picked' THEN extract(epoch FROM s.heartbeat)::float8 END, NULL, NULL, s.xmin::text, extract(epoch FROM now())::float8
  FROM :"schema".:"pgqueuer_schedules" s
 WHERE s.id = ANY (:schedule_keys)
UNION ALL
SELECT 'entrypoint:' || n.name, NULL, 'entrypoint', n.name, NULL, CASE WHEN n.name IN (SELECT p.entrypoint FROM picked p) THEN 'running' ELSE 'ready' END,
       NULL, NULL, NULL, NULL, NULL, NULL, NULL, '-', extract(epoch FROM now())::float8
  FROM names n
 WHERE n.name IN (SELECT p.entrypoint FROM picked p)
    OR EXISTS (SELECT FROM :"schema".:"pgqueuer" j WHERE j.status = 'queued' AND j.entrypoint = n.name)
    OR n.name IN (SELECT l.entrypoint FROM logged l)
