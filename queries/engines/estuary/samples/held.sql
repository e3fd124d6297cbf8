-- title: Heartbeats while unstick was watching
-- One sample of the locked tasks: the 250 with the latest wake_at, where a new failure is, and the 250 with the
-- earliest, where a long poll is. The wake_at of a locked task does not change, so the task is due. least: there are
-- more. The state is sent as a digest.
-- Index: idx_tasks_ready_at backwards from now(), 2,500 rows, and forwards, 2,500 rows.
WITH due AS MATERIALIZED (
  (SELECT task_id, task_type, wake_at, heartbeat, inner_state FROM :"schema".tasks WHERE wake_at <= now() ORDER BY wake_at DESC LIMIT 2500)
  UNION ALL
  (SELECT task_id, task_type, wake_at, heartbeat, inner_state FROM :"schema".tasks WHERE wake_at <= now() ORDER BY wake_at LIMIT 2500)
),
held AS MATERIALIZED (
  SELECT DISTINCT ON (d.wake_at, d.task_id) d.* FROM due d
   WHERE d.heartbeat <> '0001-01-01T00:00:00Z'::timestamptz AND isfinite(d.heartbeat)
   ORDER BY d.wake_at, d.task_id
),
placed AS (SELECT h.*, row_number() OVER (ORDER BY h.wake_at, h.task_id) AS place, count(*) OVER () AS n FROM held h)
SELECT 'task:' || h.task_id AS id,
       json_build_object('heartbeat', h.heartbeat::text, 'step', extract(epoch FROM h.heartbeat)::float8,
                         'timeout', coalesce(:settings -> h.task_type::text ->> 'heartbeat_timeout', :settings ->> 'heartbeat_timeout')::float8,
                         'wake_at', h.wake_at::text, 'state', md5(h.inner_state::text),
                         'task_type', h.task_type, 'type', coalesce(:settings -> 'names' ->> h.task_type::text, 'type ' || h.task_type),
                         'least', CASE WHEN h.n > 500 OR (SELECT count(*) FROM due) = 5000 THEN 'At least ' ELSE '' END)::text AS seen
  FROM placed h
 WHERE (h.place <= 250 OR h.place > h.n - 250)
   AND coalesce(pg_column_size(h.inner_state), 0) < 1000000
