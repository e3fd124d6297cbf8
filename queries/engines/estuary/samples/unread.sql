-- One sample of the tasks that became due last and have messages. A message that the executor does not read makes the
-- task due again after each poll. The first message is sent as text; the whole inbox and the state are sent as digests.
-- Index: idx_tasks_ready_at backwards from now(), 500 rows.
SELECT 'task:' || d.task_id AS id,
       json_build_object('state', md5(d.inner_state::text), 'wake_at', d.wake_at::text, 'inbox', md5(d.inbox::text), 'position', 1,
                         'task_type', d.task_type, 'type', coalesce(:settings -> 'names' ->> d.task_type::text, 'type ' || d.task_type),
                         'messages', CASE cardinality(d.inbox) WHEN 1 THEN '1 message' ELSE cardinality(d.inbox) || ' messages' END,
                         'message', left(coalesce(d.inbox[array_lower(d.inbox, 1)]::text, 'NULL'), 200),
                         'digest', left(encode(sha256(convert_to(coalesce(d.inbox[array_lower(d.inbox, 1)]::text, 'NULL'), 'UTF8')), 'hex'), 16))::text AS seen
  FROM (SELECT task_id, task_type, inner_state, wake_at, inbox FROM :"schema".tasks WHERE wake_at <= now() ORDER BY wake_at DESC LIMIT 500) AS d
 WHERE cardinality(d.inbox) > 0
   AND coalesce(pg_column_size(d.inner_state), 0) + pg_column_size(d.inbox) < 1000000
