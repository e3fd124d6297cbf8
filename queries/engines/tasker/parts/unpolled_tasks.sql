-- Tasks that the poller no longer finds. It ignores tasks that have waited for more than 60 minutes (waiting_for_retry:
-- 30), while the staleness detector may wait longer.
-- Indexes: those of the included parts; at most 200 tasks.
wanted AS (SELECT unnest(ARRAY['waiting_for_dependencies', 'waiting_for_retry']) AS to_state),
\ir open_tasks.sql
, waiting AS MATERIALIZED (
  SELECT o.task_uuid, o.to_state, o.at
    FROM open_tasks o
   WHERE o.at < now() - CASE o.to_state WHEN 'waiting_for_retry' THEN interval '30 min' ELSE interval '60 min' END
   ORDER BY o.at, o.task_uuid LIMIT 200
),
asked AS (SELECT w.task_uuid FROM waiting w),
\ir readiness.sql
, nodes AS MATERIALIZED (SELECT 'task:' || w.task_uuid AS id, w.*, k.failed, k.ready FROM waiting w FULL JOIN readiness k ON k.task_uuid = w.task_uuid),
more AS (SELECT EXISTS (SELECT FROM open_tasks o WHERE o.task_uuid IS NULL) AS more),
unread AS (SELECT NULL::text AS unread WHERE (SELECT count(*) FROM waiting) = 200)
