-- One sample of the tasks that became due last and have no message. A task in a hot loop is due again after each poll,
-- so its wake_at changes. samples/unread.sql has the tasks with unread messages.
-- Index: idx_tasks_ready_at backwards from now(), 500 rows. The state is sent as a digest.
SELECT 'task:' || d.task_id AS id, json_build_object('state', md5(d.inner_state::text), 'wake_at', d.wake_at::text, 'due', true,
                         'task_type', d.task_type, 'type', coalesce(:settings -> 'names' ->> d.task_type::text, 'type ' || d.task_type))::text AS seen
  FROM (SELECT task_id, task_type, inner_state, wake_at, inbox FROM :"schema".tasks WHERE wake_at <= now() ORDER BY wake_at DESC LIMIT 500) AS d
 WHERE coalesce(pg_column_size(d.inner_state), 0) < 1000000
   AND coalesce(cardinality(d.inbox), 0) = 0
