-- Rows number 1 to large.rows of the queue, every second one up to large.live locked, by three
-- instances; half as many cron entries.
INSERT INTO queued_job (content, creation_instance, creation_time, lock_instance, lock_time, write_last_exec)
SELECT jsonb_build_object('job', (ARRAY['send-notification', 'synchronise-ldap-user', 'inject-files'])[1 + n % 3], 'n', n / 2),
       ('00000000-0000-4000-8000-00000000000' || n % 3)::uuid, now() - make_interval(secs => 1e8 - n),
       CASE WHEN n % 2 = 0 AND n <= current_setting('large.live')::int8 THEN ('00000000-0000-4000-8000-00000000000' || n % 3)::uuid END,
       CASE WHEN n % 2 = 0 AND n <= current_setting('large.live')::int8 THEN now() - make_interval(secs => n % 100000) END, n % 4 = 0
  FROM generate_series(1, current_setting('large.rows')::int8) AS n;

INSERT INTO cron_last_exec (job, "time", instance)
SELECT jsonb_build_object('job', 'send-notification', 'sheet', n), now() - make_interval(secs => n % 1000000),
       ('00000000-0000-4000-8000-00000000000' || n % 3)::uuid
  FROM generate_series(1, current_setting('large.rows')::int8, 2) AS n;

INSERT INTO token_bucket VALUES ('rechunk-files', -5000000, now()), ('inject-files', 5, now()) ON CONFLICT DO NOTHING;
