-- Executors by the type of the tasks that they poll, each with its newest heartbeat. One without a task leaves no sign.
-- needs: task_by_heartbeat
-- Index: tasks__held__idx, backward; 1,000 tasks are read.
SELECT 'an executor of ' || o.type AS worker, extract(epoch FROM max(o.heartbeat))::float8 AS seen,
       CASE WHEN max(o.heartbeat) >= now() - :heartbeat_timeout THEN true END AS alive, jsonb_build_array(o.type) AS serves, true AS only
  FROM (SELECT coalesce(:settings -> 'names' ->> t.task_type::text, 'type ' || t.task_type) AS type, t.heartbeat FROM :"schema".tasks t
         WHERE t.heartbeat <> '0001-01-01T00:00:00Z' ORDER BY t.heartbeat DESC LIMIT 1000) AS o
 GROUP BY o.type
UNION ALL
SELECT 'an executor without a task', NULL, NULL, '[]', false
