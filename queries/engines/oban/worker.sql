-- A node of the demo: its producer of the queue default takes jobs, its stager makes due ones available. The queue mail is paused.

-- :beat every 10 ticks
UPDATE oban_producers SET updated_at = timezone('UTC', now()) WHERE node = 'app.1';

-- :arrive every 4 ticks, at most 2000 times
INSERT INTO oban_jobs (queue, worker, max_attempts, args) SELECT 'default', (ARRAY['App.Import', 'App.Sync', 'App.Clean'])[1 + floor(random() * 3)::int], 5, jsonb_build_object('id', floor(random() * 900));

-- :stage every 2 ticks
-- Jobs that became due since the node began.
UPDATE oban_jobs SET state = 'available'
 WHERE id IN (SELECT id FROM oban_jobs WHERE state IN ('scheduled', 'retryable') AND scheduled_at BETWEEN timezone('UTC', now()) - interval '1 minute' AND timezone('UTC', now()) LIMIT 20 FOR UPDATE SKIP LOCKED);

-- :finish every 3 ticks
UPDATE oban_jobs j
   SET state = CASE WHEN k.luck > 0.06 THEN 'completed' WHEN j.attempt >= j.max_attempts THEN 'discarded' ELSE 'retryable' END::oban_job_state, completed_at = CASE WHEN k.luck > 0.06 THEN timezone('UTC', now()) END,
       discarded_at = CASE WHEN k.luck <= 0.06 AND j.attempt >= j.max_attempts THEN timezone('UTC', now()) END,
       scheduled_at = CASE WHEN k.luck <= 0.06 THEN timezone('UTC', now()) + interval '30 seconds' ELSE j.scheduled_at END,
       errors = CASE WHEN k.luck <= 0.06 THEN j.errors || jsonb_build_object('attempt', j.attempt, 'at', to_char(timezone('UTC', now()), 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), 'error', '** (RuntimeError) upstream closed the connection') ELSE j.errors END
  FROM (SELECT id, random() AS luck FROM oban_jobs
         WHERE state = 'executing' AND attempted_by[2] = '6f1c9d70-0000-4000-8000-000000000001' AND attempted_at BETWEEN timezone('UTC', now()) - interval '20 seconds' AND timezone('UTC', now()) - interval '1 second') AS k
 WHERE j.id = k.id;

-- :take every 3 ticks
UPDATE oban_jobs SET state = 'executing', attempt = attempt + 1, attempted_at = timezone('UTC', now()), attempted_by = ARRAY['app.1', '6f1c9d70-0000-4000-8000-000000000001']
 WHERE id IN (SELECT id FROM oban_jobs WHERE state = 'available' AND queue = 'default' AND attempt < max_attempts ORDER BY priority, scheduled_at, id LIMIT 2 FOR UPDATE SKIP LOCKED);
