-- Locked tasks: all of a small table, which is scanned; else the 2,500 with the oldest and the 2,500 with the newest
-- heartbeat.
-- needs: task_by_heartbeat
-- needs of ids: none
due AS MATERIALIZED (
  (SELECT task_id, task_type, wake_at, heartbeat FROM :"schema".tasks
    WHERE :ids IS NULL AND 'task_scan' = ANY (:met_needs) AND heartbeat <> '0001-01-01T00:00:00Z'::timestamptz)
  UNION
  (SELECT task_id, task_type, wake_at, heartbeat FROM :"schema".tasks
    WHERE :ids IS NULL AND NOT 'task_scan' = ANY (:met_needs) AND heartbeat <> '0001-01-01T00:00:00Z'::timestamptz ORDER BY heartbeat LIMIT 2500)
  UNION
  (SELECT task_id, task_type, wake_at, heartbeat FROM :"schema".tasks
    WHERE :ids IS NULL AND NOT 'task_scan' = ANY (:met_needs)
      AND heartbeat <> '0001-01-01T00:00:00Z'::timestamptz AND heartbeat <= now() ORDER BY heartbeat DESC LIMIT 2500)
  UNION
  (SELECT task_id, task_type, wake_at, heartbeat FROM :"schema".tasks WHERE task_id = ANY (:task_keys))
),
more AS (SELECT NOT 'task_scan' = ANY (:met_needs) AND count(*) = 5000 AS more FROM due),
\ir nodes.sql
