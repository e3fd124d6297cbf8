-- Suspend an idle task with an empty inbox. A running poll overwrites wake_at at its end, so its task is refused for now.
-- Index: tasks_pkey.

-- :refused
SELECT 'task:' || t.task_id AS id, why.text AS why, t.heartbeat <> '0001-01-01T00:00:00Z' AND isfinite(t.heartbeat) AS for_now
  FROM :"schema".tasks t
 CROSS JOIN LATERAL (
       SELECT CASE WHEN t.heartbeat <> '0001-01-01T00:00:00Z' THEN 'the task is locked: a running poll sets wake_at when it ends, and if its executor dies no other executor takes the task'
                   WHEN t.wake_at IS NULL THEN 'the task is already suspended'
                   WHEN cardinality(t.inbox) > 0 THEN 'the inbox is not empty: a parked task would not read it' END AS text) AS why
 WHERE t.task_id = ANY (:task_keys) AND why.text IS NOT NULL

-- :change
UPDATE :"schema".tasks t SET wake_at = NULL
 WHERE t.task_id = ANY (:task_keys)
   AND ('task:' || t.task_id, t.xmin::text) IN (SELECT * FROM unnest(:ids, :versions))
   AND t.heartbeat = '0001-01-01T00:00:00Z' AND t.wake_at IS NOT NULL AND (cardinality(t.inbox) > 0) IS NOT TRUE
RETURNING 'task:' || t.task_id AS id
