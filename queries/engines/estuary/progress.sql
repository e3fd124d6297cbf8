-- Tasks whose poll has ended since they were made due: idle, not due, and without a message.
-- Index: tasks_pkey.
SELECT 'task:' || t.task_id AS id
\ir parts/asked.sql
   AND t.heartbeat = '0001-01-01T00:00:00Z'::timestamptz
   AND (t.wake_at IS NULL OR t.wake_at > now())
   AND coalesce(cardinality(t.inbox), 0) = 0
