-- The agent and the data plane's controller. A poll takes a task by its heartbeat, and ends one or two seconds later.

-- :arrive every 16 ticks, at most 300 times
WITH made AS (
  INSERT INTO tasks (task_id, task_type) VALUES (id_generator(), CASE WHEN random() < 0.5 THEN 3 ELSE 4 END) RETURNING task_id
)
SELECT send_to_task(m.task_id, '00:00:00:00:00:00:00:00', '{"type":"queued"}') FROM made m;

-- :end
-- Polls of this worker, which are seconds old. Publications and discovers are done: their rows go. No poll can read a poisoned inbox.
WITH done AS (
  SELECT task_id, task_type, inbox_next FROM tasks
   WHERE heartbeat BETWEEN now() - interval '20 seconds' AND now() - interval '1 second' AND wake_at > now() - interval '1 minute' AND wake_at <= now()
   ORDER BY wake_at LIMIT 6 FOR UPDATE SKIP LOCKED
),
gone AS (
  DELETE FROM tasks t USING done d WHERE t.task_id = d.task_id AND d.task_type IN (3, 4) AND d.inbox_next IS NULL RETURNING t.task_id
)
UPDATE tasks t
   SET heartbeat = '0001-01-01T00:00:00Z', inbox = t.inbox_next, inbox_next = NULL, wake_at = CASE WHEN t.inbox_next IS NOT NULL OR t.inner_state ->> 'next_at' = 'now' THEN now() ELSE now() + (20 + 600 * random()) * interval '1 second' END,
       inner_state = CASE WHEN t.inner_state ->> 'next_at' = 'now' THEN json_build_object('total_successes', (t.inner_state ->> 'total_successes')::int8 + 1, 'next_at', 'now') -- a hot loop
                          WHEN t.inner_state ->> 'messages_processed' IS NOT NULL
                          THEN json_build_object('messages_processed', (t.inner_state ->> 'messages_processed')::int8 + 1, 'total_failures', t.inner_state -> 'total_failures', 'total_successes', (t.inner_state ->> 'total_successes')::int8 + 1)
                          ELSE t.inner_state END
  FROM done d WHERE t.task_id = d.task_id AND (d.task_type NOT IN (3, 4) OR d.inbox_next IS NOT NULL);

-- :beat every 20 ticks
-- What fails at each poll is taken again after its timeout.
UPDATE tasks SET heartbeat = now()
 WHERE wake_at < now() - interval '30 minutes' AND task_type IN (1, 2)
   AND heartbeat BETWEEN now() - interval '1 hour' AND now() - CASE task_type WHEN 1 THEN interval '60 seconds' ELSE interval '300 seconds' END;

-- :take
WITH picked AS (
  SELECT task_id FROM tasks
   WHERE task_type IN (1, 2, 3, 4, 8, 9, 10, 11) AND wake_at < now() AND heartbeat = '0001-01-01T00:00:00Z' ORDER BY wake_at LIMIT 4 FOR UPDATE SKIP LOCKED
)
UPDATE tasks t SET heartbeat = now() FROM picked p WHERE t.task_id = p.task_id;
