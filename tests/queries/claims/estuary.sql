-- :fill
TRUNCATE tasks CASCADE;
INSERT INTO tasks (task_id, task_type, wake_at, heartbeat)
SELECT id_generator(), (ARRAY[3, 4, 16])[1 + floor(random() * 3)::int], CASE WHEN random() < 0.8 THEN now() + (random() - 0.7) * interval '1 hour' END,
       CASE WHEN random() < 0.6 THEN '0001-01-01T00:00:00Z' ELSE now() - random() * interval '10 minutes' END
  FROM generate_series(1, 12);

-- :own
-- Executors of these types have a timeout of 300 seconds.
SELECT task_id::text FROM tasks
 WHERE CASE task_type WHEN 3 THEN 'PUBLICATIONS' WHEN 4 THEN 'DISCOVERS' ELSE 'type ' || task_type END = ANY ($1::text[]) AND wake_at < now() AND heartbeat < now() - interval '300 seconds'
 ORDER BY wake_at FOR UPDATE SKIP LOCKED;
