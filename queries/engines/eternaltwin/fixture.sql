-- Jobs that run and that have ended, and what is stuck: lost wake-ups, overdue timers, starved and outdated tasks, tasks that are
-- polled without progress, and one that computes.
-- All objects are in the first schema of the search_path. Parameters: none.
-- A line that ends in "--all" is not in the small demo.
INSERT INTO users (user_id, created_at)
SELECT md5('user ' || n)::uuid, now() - n * interval '90 days' FROM generate_series(1, 5) AS n;

-- Jobs: number, age, kind and version of the root task.
CREATE TEMP TABLE new_job ON COMMIT DROP AS
SELECT md5('job ' || j.number)::uuid AS id, md5('task ' || j.number || ' 0')::uuid AS root, j.*
  FROM (VALUES (10, interval '26 minutes', 'ArchiveHammerfestUser', 3, 'Blocked', 'AwaitChildren', interval '8 minutes', NULL::interval, 6), -- families that run
               (11, interval '19 minutes', 'ArchiveHammerfestUser', 3, 'Blocked', 'AwaitChildren', interval '5 minutes', NULL, 6),
               (12, interval '9 minutes', 'ArchiveHammerfestUser', 3, 'Blocked', 'AwaitChildren', interval '4 minutes', NULL, 5),
               (13, interval '40 minutes', 'ArchiveHammerfestUser', 3, 'Blocked', 'AwaitChildren', interval '21 minutes', NULL, 9), -- a large forum
               (20, interval '4 minutes', 'ArchiveDinoparcUser', 2, 'Available', 'FetchDinoz', interval '2 seconds', NULL, 3),
               (21, interval '3 minutes', 'ArchiveDinoparcUser', 2, 'Available', 'FetchDinoz', interval '3 seconds', NULL, 4),
               (22, interval '12 minutes', 'ArchiveTwinoidUser', 1, 'Blocked', 'FetchAchievements', interval '40 seconds', interval '25 seconds', 8),
               (23, interval '7 minutes', 'ArchiveTwinoidUser', 1, 'Blocked', 'FetchAchievements', interval '35 seconds', interval '50 seconds', 5),
               (24, interval '50 minutes', 'Sleep', 1, 'Blocked', 'Awake', interval '25 minutes', interval '25 minutes', 1),
               (25, interval '1 day', 'Sleep', 1, 'Blocked', 'Awake', interval '12 hours', interval '36 hours', 1),
               (30, interval '11 hours', 'ArchiveHammerfestUser', 3, 'Blocked', 'AwaitChildren', interval '9 hours', NULL, 7), -- lost wake-ups
               (31, interval '5 hours', 'ArchiveHammerfestUser', 3, 'Blocked', 'AwaitChildren', interval '4 hours', NULL, 6),
               (32, interval '80 minutes', 'ArchiveDinoparcUser', 2, 'Blocked', 'Store', interval '20 minutes', interval '-20 minutes', 4), -- overdue timers
               (33, interval '4 hours', 'ArchiveDinoparcUser', 2, 'Blocked', 'Store', interval '3 hours', interval '-3 hours', 4),
               (34, interval '2 hours', 'ArchivePopotamoUser', 1, 'Available', 'FetchItems', NULL, NULL, 0), -- a kind that no runner knows
               (35, interval '26 hours', 'ArchivePopotamoUser', 1, 'Available', 'FetchItems', NULL, NULL, 0),
               (36, interval '3 days', 'RefreshForumThread', 2, 'Available', 'AwaitToken', interval '0.4 seconds', interval '2 hours', 412903), -- polled without end --all
               (37, interval '1 day', 'ArchiveTwinoidUser', 1, 'Available', 'Render', interval '0.4 seconds', NULL, 5391), -- computes
               (38, interval '20 days', 'ArchiveDinoparcUser', 1, 'Available', 'Fetch', interval '19 days', NULL, 12), -- written by older code
               (39, interval '21 days', 'ArchiveDinoparcUser', 1, 'Available', 'Fetch', interval '20 days', NULL, 9),
               (40, interval '41 days', 'ArchiveDinoparcUser', 1, 'Available', 'Fetch', interval '40 days', NULL, 17),
               (41, interval '2 hours', 'ArchiveHammerfestUser', 3, 'Complete', 'Store', interval '1 hour', NULL, 5), -- a child still waits --all
               (42, interval '5 hours', 'SendEmail', 2, 'Complete', 'Deliver', interval '4 hours', interval '8 hours', 2), -- a timer is left over --all
               (43, interval '3 hours', 'ArchiveTwinoidUser', 1, 'Blocked', 'AwaitChildren', interval '2 hours', NULL, 3) -- waits for a child that waits for it
       ) AS j (number, age, kind, kind_version, status, phase, polled, due, revision)
UNION ALL
SELECT md5('job ' || n)::uuid, md5('task ' || n || ' 0')::uuid, n, n % 50 * interval '3 hours' + interval '2 hours', (ARRAY['ArchiveHammerfestUser', 'SendEmail'])[1 + n % 2],
       3 - n % 2, 'Complete', 'Store', n % 50 * interval '3 hours' + interval '1 hour', NULL, 4 + n % 9
  FROM generate_series(100, 115) AS n
UNION ALL -- threads that are watched for ever
SELECT md5('job ' || n)::uuid, md5('task ' || n || ' 0')::uuid, n, (n - 195) * interval '3 days', 'RefreshForumThread', 2, 'Blocked', 'FetchPage', (n - 199) * interval '2 seconds',
       (n - 199) * interval '3 seconds', 40 * (n - 195)
  FROM generate_series(200, 206) AS n;

INSERT INTO job (job_id, created_at, created_by, initial_state)
SELECT id, now() - age, CASE WHEN number % 3 > 0 THEN md5('user ' || 1 + number % 5)::uuid END,
       convert_to(format('{"user":{"server":"hammerfest.fr","id":"%s"},"phase":"%s","retries":0}', 1000 + number * 37, phase), 'UTF8')
  FROM new_job;
INSERT INTO job (job_id, created_at, initial_state) --all
SELECT md5('job ' || n)::uuid, now() - n * interval '11 minutes', '{"phase":"FetchProfile"}' FROM generate_series(1, 2) AS n; -- without a task --all

-- Children: the numbers of those that have ended and that wait, of each family.
CREATE TEMP TABLE new_child ON COMMIT DROP AS
SELECT f.number, c.n, md5('task ' || f.number || ' ' || c.n)::uuid AS id, c.n <= f.ended AS ended, f.due, f.kind
  FROM (VALUES (10, 3, 1, interval '20 seconds', 'RefreshForumThread'), (11, 4, 1, interval '30 seconds', 'RefreshForumThread'), (12, 2, 0, interval '15 seconds', 'RefreshForumThread'),
               (13, 60, 45, interval '40 seconds', 'RefreshForumThread'), (30, 3, 3, NULL, 'RefreshForumThread'), (31, 5, 5, NULL, 'RefreshForumThread'),
               (41, 1, 0, interval '2 days', 'RefreshForumThread'), --all
               (43, 1, 0, NULL, 'ArchiveTwinoidUser')) AS f (number, children, ended, due, kind)
 CROSS JOIN LATERAL generate_series(1, f.children) AS c (n);

INSERT INTO task (task_id, job_id, kind, kind_version, created_at, polled_at, revision, status, cpu_duration, poll_duration, state, output)
SELECT j.root, j.id, j.kind, j.kind_version, now() - j.age, CASE WHEN j.polled IS NOT NULL THEN row(now() - j.polled, j.number)::job_tick END, j.revision, j.status::task_status,
       j.revision * CASE j.phase WHEN 'Render' THEN interval '2.4 seconds' WHEN 'AwaitToken' THEN interval '0.0005 seconds' ELSE interval '0.006 seconds' END,
       j.revision * CASE j.phase WHEN 'Render' THEN interval '2.412 seconds' WHEN 'AwaitToken' THEN interval '0.001 seconds' ELSE interval '0.31 seconds' END,
       convert_to(CASE WHEN j.phase = 'Fetch' THEN '{"step":2}' ELSE json_strip_nulls(json_build_object('phase', j.phase, 'retries', j.number % 3,
                    'children', (SELECT json_agg(c.id ORDER BY c.n) FROM new_child c WHERE c.number = j.number)))::text END, 'UTF8'),
       CASE j.status WHEN 'Complete' THEN convert_to('{"archived":' || j.number * 3 || '}', 'UTF8') END
  FROM new_job AS j;

INSERT INTO task (task_id, job_id, kind, kind_version, created_at, polled_at, revision, status, cpu_duration, poll_duration, state, output)
SELECT c.id, j.id, c.kind, CASE c.kind WHEN 'RefreshForumThread' THEN 2 ELSE 1 END, now() - j.age * 0.8, row(now() - j.polled * 0.9, c.n)::job_tick, 2 + c.n % 7,
       CASE WHEN c.ended THEN 'Complete' ELSE 'Blocked' END::task_status, (2 + c.n % 7) * interval '0.004 seconds', (2 + c.n % 7) * interval '0.27 seconds',
       convert_to(format('{"phase":"%s","parent":"%s","part":%s}', CASE WHEN c.ended THEN 'Store' WHEN c.due IS NULL THEN 'AwaitChildren' ELSE 'FetchPage' END, j.root, c.n), 'UTF8'),
       CASE WHEN c.ended THEN convert_to('{"archived":' || c.n || '}', 'UTF8') END
  FROM new_child c JOIN new_job j ON j.number = c.number;

INSERT INTO task_timer (deadline, task_id)
SELECT now() + due, root FROM new_job WHERE due IS NOT NULL
UNION ALL
SELECT now() + due + n * interval '7 seconds', id FROM new_child WHERE NOT ended AND due IS NOT NULL;

-- A task whose delay has overflowed; the others of its kind are due soon. --all
INSERT INTO job (job_id, created_at, initial_state) VALUES (md5('job 50')::uuid, now() - interval '6 hours', '{"phase":"Awake"}'); --all
INSERT INTO task (task_id, job_id, kind, kind_version, created_at, polled_at, revision, status, cpu_duration, poll_duration, state) --all
VALUES (md5('task 50 0')::uuid, md5('job 50')::uuid, 'Sleep', 1, now() - interval '6 hours', row(now() - interval '5 hours', 1)::job_tick, 1, 'Blocked', '0.004 s', '0.2 s', '{"phase":"Awake"}'); --all
INSERT INTO task_timer (deadline, task_id) VALUES (now() + interval '90 years', md5('task 50 0')::uuid); --all
