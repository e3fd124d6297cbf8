-- :fill
TRUNCATE oban_jobs, oban_producers;
INSERT INTO oban_producers (uuid, node, queue, meta)
SELECT gen_random_uuid(), 'app.1', q.queue, jsonb_build_object('paused', random() < 0.2, 'local_limit', 2, 'running', to_jsonb(ARRAY(SELECT generate_series(1, floor(random() * 4)::int) + length(q.queue) * 0)))
  FROM unnest(ARRAY['mail', 'billing', 'files']) AS q(queue);
INSERT INTO oban_jobs (queue, worker, state, attempt, max_attempts, priority, scheduled_at)
SELECT (ARRAY['mail', 'billing', 'files'])[1 + floor(random() * 3)::int], 'App.Import',
       (CASE WHEN random() < 0.5 THEN 'available' ELSE (ARRAY['scheduled', 'retryable', 'executing', 'completed', 'discarded', 'cancelled'])[1 + floor(random() * 6)::int] END)::oban_job_state,
       CASE WHEN random() < 0.2 THEN 3 ELSE 1 END, 3, floor(random() * 3), timezone('UTC', now()) + (random() - 0.7) * interval '1 hour'
  FROM generate_series(1, 12);

-- :own
-- Each queue has a producer, which fetches nothing if it is paused or runs as many jobs as it may.
SELECT j.id::text FROM oban_jobs j JOIN oban_producers p ON p.queue = j.queue
 WHERE j.state = 'available' AND j.queue = ANY ($1) AND j.attempt < j.max_attempts
   AND NOT (p.meta ->> 'paused')::bool AND jsonb_array_length(p.meta -> 'running') < (p.meta ->> 'local_limit')::int
 ORDER BY j.queue, j.priority, j.scheduled_at, j.id FOR UPDATE OF j SKIP LOCKED;
