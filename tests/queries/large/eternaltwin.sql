-- Rows number 1 to large.rows: a third Available, a third Blocked, a third Complete, ten tasks a job, but a quarter of all in
-- one; of ten
-- Blocked tasks nine have a timer, half of the timers are overdue. Rows beyond
-- large.live are Complete; up to there no class is rare.
SET session_replication_role = replica; -- foreign keys hold by construction

INSERT INTO job (job_id, created_at, initial_state)
SELECT md5('job ' || n)::uuid, now() - make_interval(secs => n), '{"phase":"FetchProfile"}'
  FROM generate_series(1, current_setting('large.rows')::int8, 10) AS n;

INSERT INTO task (task_id, job_id, kind, kind_version, created_at, polled_at, revision, status, cpu_duration, poll_duration,
                  state)
SELECT md5('task ' || n)::uuid, md5('job ' || CASE WHEN n % 4 = 0 THEN 1 ELSE n - (n - 1) % 10 END)::uuid,
       (ARRAY['SendEmail', 'ArchiveTwinoidUser', 'RefreshForumThread'])[1 + n % 3], 1 + n % 2,
       now() - make_interval(secs => 1e8 + n),
       CASE WHEN n % 12 <> 1 THEN row(now() - make_interval(secs => 60 + n % 1000000), n % 65536)::job_tick END,
       n % 20000, (ARRAY['Complete', 'Available', 'Blocked'])[CASE WHEN n <= current_setting('large.live')::int8 THEN 1 + n % 3 ELSE 1 END]::task_status,
       make_interval(secs => n % 100), make_interval(secs => 1 + n % 200), '{"phase":"FetchProfile","retries":1}'
  FROM generate_series(1, current_setting('large.rows')::int8) AS n;

INSERT INTO task_timer (deadline, task_id)
SELECT now() + make_interval(secs => CASE n % 2 WHEN 0 THEN -120 - n ELSE 3600 + n END), md5('task ' || n)::uuid
  FROM generate_series(1, current_setting('large.rows')::int8) AS n
 WHERE n % 3 = 2 AND n % 10 > 0 AND n <= current_setting('large.live')::int8;

RESET session_replication_role;
