-- Find tasks with ready steps that the poller no longer finds. It ignores tasks that have waited for more than 60 minutes
-- (waiting_for_retry: 30), while the staleness detector may wait longer.
-- Indexes: those of the included parts; at most 200 tasks.
WITH RECURSIVE wanted AS (SELECT unnest(ARRAY['waiting_for_dependencies', 'waiting_for_retry']) AS to_state),
\ir ../parts/open_tasks.sql
, waiting AS MATERIALIZED (
  SELECT o.task_uuid, o.to_state, o.at
    FROM open_tasks o
   WHERE o.at < now() - CASE o.to_state WHEN 'waiting_for_retry' THEN interval '30 minutes' ELSE interval '60 minutes' END
   ORDER BY o.at, o.task_uuid LIMIT 200
),
asked AS (SELECT w.task_uuid FROM waiting w),
\ir ../parts/readiness.sql
(SELECT 'task:' || w.task_uuid AS id, extract(epoch FROM w.at)::float8 AS since,
        jsonb_build_object('state', w.to_state, 'waited', date_trunc('second', now() - w.at)::text, 'ready', k.ready, 'task', w.task_uuid) AS evidence
   FROM waiting w
   JOIN summed k ON k.task_uuid = w.task_uuid
  WHERE k.failed = 0 AND k.ready > 0
\ir ../parts/more.sql
