-- The executor of the demo polls the table: it takes the oldest pending jobs, and ends them some seconds later.

-- :arrive every 4 ticks, at most 2000 times
INSERT INTO jobs (job_id, agent_id, user_id)
SELECT coalesce(max(job_id::int8), 0) + 1, a.id, a.user_id
  FROM jobs CROSS JOIN (SELECT id, user_id FROM agents ORDER BY random() LIMIT 1) AS a GROUP BY a.id, a.user_id;

-- :finish every 2 ticks
-- Its own: jobs that it took less than a minute ago. An older one belongs to an executor that died.
UPDATE jobs
   SET status = CASE WHEN random() < 0.03 THEN 'failed' ELSE 'completed' END, completed_at = now(), updated_at = now()
 WHERE status = 'active' AND started_at BETWEEN now() - interval '1 minute' AND now() - interval '3 seconds';

-- :reason every 2 ticks
UPDATE jobs SET error = 'PDF file is too small to be valid.' WHERE status = 'failed' AND error IS NULL AND completed_at > now() - interval '10 seconds';

-- :take every 2 ticks
UPDATE jobs SET status = 'active', started_at = now(), updated_at = now()
 WHERE id IN (SELECT id FROM jobs WHERE status = 'pending' ORDER BY created_at, id LIMIT 2 FOR UPDATE SKIP LOCKED);
