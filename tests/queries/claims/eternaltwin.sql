-- :fill
TRUNCATE job CASCADE;
INSERT INTO job (job_id, created_at, initial_state) VALUES ('00000000-0000-0000-0000-000000000001', now() - interval '2 days', '{}');
INSERT INTO task (task_id, job_id, kind, kind_version, created_at, polled_at, revision, status, cpu_duration, poll_duration, state)
SELECT gen_random_uuid(), '00000000-0000-0000-0000-000000000001', (ARRAY['Sleep', 'SendEmail', 'Archive'])[1 + floor(random() * 3)::int], 1, now() - interval '1 day',
       CASE WHEN random() < 0.8 THEN row(now() - random() * interval '1 hour', 1)::job_tick END, 0, (ARRAY['Available', 'Blocked', 'Complete'])[1 + floor(random() * 3)::int]::task_status, '0', '0', '{}'
  FROM generate_series(1, 12);
INSERT INTO task_timer (deadline, task_id) SELECT now() + (random() - 0.5) * interval '1 hour', t.task_id FROM task t WHERE t.status = 'Blocked' AND random() < 0.7;

-- :own
-- The runner drops what it does not know after it has read it.
SELECT task_id::text FROM task WHERE status = 'Available' AND kind = ANY ($1) ORDER BY polled_at;
