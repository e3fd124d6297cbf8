-- :fill
TRUNCATE jobs;
INSERT INTO agents (id, user_id, profile) VALUES ('00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-000000000002', ROW('a', 'demo', 'an agent', '{}')::agent_profile) ON CONFLICT DO NOTHING;
INSERT INTO jobs (job_id, agent_id, user_id, status, created_at)
SELECT n, '00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-000000000002',
       (ARRAY['pending', 'pending', 'active', 'completed', 'failed', 'delayed', 'paused'])[1 + floor(random() * 7)::int], now() - random() * interval '1 hour'
  FROM generate_series(1, 12) AS n;

-- :own
SELECT j.id::text FROM jobs j WHERE j.status = 'pending' ORDER BY j.created_at, j.id FOR UPDATE SKIP LOCKED;
