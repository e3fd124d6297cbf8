-- End a blocked task, as error or as resolved_manually. Its steps do not change.

-- :lock
WITH \ir ../parts/locked_tasks.sql
SELECT 'task:' || l.task_uuid AS id, l.version FROM locked_tasks l

-- :refused
WITH \ir ../parts/asked_tasks.sql
SELECT a.id, r.why FROM asked_tasks a, LATERAL (SELECT coalesce(a.why,
  CASE WHEN a.to_state <> 'blocked_by_failures' THEN 'it is ' || a.to_state || ', not blocked_by_failures' END) AS why) r
 WHERE r.why IS NOT NULL

-- :change
WITH \ir ../parts/seen.sql
SELECT :"schema".transition_task_state_atomic(n.task_uuid, n.state,
         (CASE WHEN :args ->> 'as' = 'resolved_manually' THEN 'resolved_manually' ELSE 'error' END)::varchar, NULL, jsonb_build_object(
         'event', CASE WHEN :args ->> 'as' = 'resolved_manually' THEN 'ManualResolution' ELSE 'GiveUp' END,
         'timestamp', now(), 'operator', :operator, 'reason', :reason, 'console', 'unstick', 'action_id', pg_current_xact_id()::text))
  FROM seen n
 WHERE n.state = 'blocked_by_failures'

-- :change
WITH \ir ../parts/changed.sql
SELECT c.id FROM changed c
