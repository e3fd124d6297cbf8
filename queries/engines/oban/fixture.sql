-- Jobs in each state, and what is stuck: a dead and a silent producer, a long job, queues that are unserved, paused and starved,
-- overdue jobs, and an available job without attempts.
INSERT INTO oban_producers (uuid, node, queue, meta, started_at, updated_at)
SELECT p.uuid::uuid, p.node, p.queue, p.meta::jsonb, timezone('UTC', now()) - interval '1 day', timezone('UTC', now()) - p.silent
  FROM (VALUES ('6f1c9d70-0000-4000-8000-000000000001', 'app.1', 'default', '{"limit":10,"paused":false}', interval '5 seconds'),
               ('6f1c9d70-0000-4000-8000-000000000002', 'app.2', 'default', '{"limit":10,"paused":false}', interval '30 minutes'),
               ('6f1c9d70-0000-4000-8000-000000000003', 'app.1', 'mail', '{"limit":10,"paused":true}', interval '5 seconds')) AS p(uuid, node, queue, meta, silent);

INSERT INTO oban_jobs (state, queue, worker, attempt, max_attempts, args, errors, attempted_by, inserted_at, scheduled_at, attempted_at, completed_at, discarded_at, cancelled_at)
SELECT j.state::oban_job_state, j.queue, j.worker, j.attempt, 5, jsonb_build_object('id', n),
       CASE WHEN j.error IS NULL THEN '[]' ELSE jsonb_build_array(jsonb_build_object('attempt', 1, 'error', j.error || ' ' || n, 'at', '2026-01-01T00:00:00Z')) END,
       CASE WHEN j.node IS NULL THEN '{}' ELSE ARRAY['app.' || j.node, '6f1c9d70-0000-4000-8000-00000000000' || j.node] END,
       timezone('UTC', now()) - greatest(j.age, '0') - interval '1 minute', timezone('UTC', now()) - j.age, CASE WHEN j.attempt > 0 THEN timezone('UTC', now()) - greatest(j.age, '0') END,
       CASE j.state WHEN 'completed' THEN timezone('UTC', now()) - j.age END, CASE j.state WHEN 'discarded' THEN timezone('UTC', now()) - j.age END,
       CASE j.state WHEN 'cancelled' THEN timezone('UTC', now()) - j.age END
  FROM (VALUES ('completed', 'default', 'App.Import', 1, NULL, 1, interval '2 hours', 5), ('available', 'default', 'App.Import', 0, NULL, NULL, interval '20 minutes', 3),
               ('available', 'reports', 'App.Report', 0, NULL, NULL, interval '50 minutes', 2), ('available', 'mail', 'App.Welcome', 0, NULL, NULL, interval '10 minutes', 2),
               ('executing', 'default', 'App.Sync', 1, NULL, 2, interval '30 minutes', 2), ('executing', 'default', 'App.Charge', 5, NULL, 9, interval '25 minutes', 1),
               ('executing', 'default', 'App.Crawl', 1, NULL, 1, interval '3 hours', 1), ('executing', 'default', 'App.Bill', 1, NULL, 1, interval '1 minute', 1),
               ('scheduled', 'default', 'App.Clean', 0, NULL, NULL, interval '-1 day', 2), ('scheduled', 'reports', 'App.Remind', 0, NULL, NULL, interval '20 minutes', 2),
               ('retryable', 'default', 'App.Fetch', 2, 'timeout of', NULL, interval '-1 hour', 12), ('retryable', 'reports', 'App.Fetch', 2, 'timeout of', NULL, interval '15 minutes', 1),
               ('suspended', 'default', 'App.Join', 0, NULL, NULL, interval '1 hour', 1), ('discarded', 'default', 'App.Parse', 5, 'no such key in row', NULL, interval '3 hours', 3),
               ('cancelled', 'default', 'App.Old', 1, NULL, NULL, interval '5 hours', 2), ('available', 'default', 'App.Stuck', 5, 'killed in', NULL, interval '2 hours', 1))
            AS j(state, queue, worker, attempt, error, node, age, many), generate_series(1, j.many) AS n;
