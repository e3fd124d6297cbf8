-- Jobs of a queue in Redis that the table mirrors: only pending, completed and failed, without a time of the start.
-- All objects are in the first schema of the search_path. Parameters: none.
INSERT INTO agents (id, user_id, profile) SELECT md5('mirror ' || n)::uuid, md5('user ' || n)::uuid, row('Archivist ' || n, 'demo', 'an agent of the demo', '{}')::agent_profile FROM generate_series(1, 3) AS n;

INSERT INTO jobs (job_id, agent_id, user_id, status, created_at, completed_at, updated_at)
SELECT n::text, md5('mirror ' || 1 + n % 3)::uuid, md5('user ' || 1 + n % 3)::uuid, CASE n % 40 WHEN 0 THEN 'failed' ELSE 'completed' END, e.at - interval '12 seconds', e.at, e.at
  FROM generate_series(1, 120) AS n CROSS JOIN LATERAL (SELECT now() - (121 - n) * interval '50 minutes' AS at) AS e;
UPDATE jobs SET error = 'File ingestion failed' WHERE status = 'failed';

-- Newer jobs of the same agent have ended: the end of these was not recorded. One waits longer than the engine lets any wait.
INSERT INTO jobs (job_id, agent_id, user_id, created_at, updated_at)
SELECT (200 + n)::text, md5('mirror 2')::uuid, md5('user 2')::uuid, now() - n * interval '4 hours', now() - n * interval '4 hours' FROM generate_series(1, 4) AS n;
