-- Complete a task whose steps are all done, as the engine does.

-- :lock
WITH \ir ../parts/locked_tasks.sql
SELECT 'task:' || l.task_uuid AS id, l.version FROM locked_tasks l

-- :refused
WITH \ir ../parts/asked_tasks.sql
SELECT a.id, r.why FROM asked_tasks a
  LEFT JOIN LATERAL :"schema".get_task_execution_context(a.task_uuid) k ON true
 CROSS JOIN LATERAL (SELECT coalesce(a.why,
  CASE WHEN a.to_state = 'pending' THEN 'it is pending, so the poller finds it'
       WHEN k.execution_status <> 'all_complete'
       THEN 'some of its steps are not done: ' || k.completed_steps || ' of ' || k.total_steps || ', ' || replace(k.execution_status, '_', ' ') END) AS why) r
 WHERE r.why IS NOT NULL

-- :change
WITH \ir ../parts/seen.sql
SELECT :"schema".transition_task_state_atomic(n.task_uuid, n.state, 'complete', NULL, jsonb_build_object('event', 'AllStepsSuccessful',
         'timestamp', now(), 'operator', :operator, 'reason', :reason, 'console', 'unstick', 'action_id', pg_current_xact_id()::text))
  FROM seen n
 CROSS JOIN LATERAL :"schema".get_task_execution_context(n.task_uuid) AS k
 WHERE k.execution_status = 'all_complete' AND n.state NOT IN ('complete', 'cancelled', 'resolved_manually')

-- :change
WITH \ir ../parts/finished.sql
, \ir ../parts/changed.sql
SELECT c.id FROM changed c
