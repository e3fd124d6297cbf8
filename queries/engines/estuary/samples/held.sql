-- title: Heartbeats while unstick was watching
-- One sample of the locked tasks, earliest wake_at first. The wake_at of a locked task does not change, so the task is due.
-- Index: idx_tasks_ready_at, the first 5,000 rows, of which 500 are kept. The state is sent as a digest.
SELECT 'task:' || h.task_id AS id,
       json_build_object('heartbeat', h.heartbeat::text, 'step', extract(epoch FROM h.heartbeat)::float8, 'timeout', h.timeout,
                         'wake_at', h.wake_at::text, 'state', md5(h.inner_state::text),
                         'task_type', h.task_type, 'type', coalesce(:settings -> 'names' ->> h.task_type::text, 'type ' || h.task_type))::text AS seen
  FROM (SELECT d.*, coalesce(:settings -> d.task_type::text ->> 'heartbeat_timeout', :settings ->> 'heartbeat_timeout')::float8 AS timeout
          FROM (SELECT task_id, task_type, wake_at, heartbeat, inner_state FROM :"schema".tasks WHERE wake_at <= now() ORDER BY wake_at LIMIT 5000) AS d
         WHERE d.heartbeat <> '0001-01-01T00:00:00Z'::timestamptz AND isfinite(d.heartbeat)
         ORDER BY d.wake_at, d.task_id
         LIMIT 500) AS h
 WHERE coalesce(pg_column_size(h.inner_state), 0) < 1000000
