-- Jobs in a table that an executor polls: in each status, and stuck ones.
-- All objects are in the first schema of the search_path. Parameters: none.
-- A line that ends in "--all" is not in the small demo.
ALTER TABLE jobs DROP CONSTRAINT jobs_agent_id_fkey; -- the set-up of agents ran twice: it drops the foreign key, and does not make it again

INSERT INTO agents (id, user_id, profile)
SELECT md5('agent ' || n)::uuid, md5('user ' || n % 4)::uuid, row(a.name, 'demo', 'an agent of the demo', '{}')::agent_profile
  FROM unnest(ARRAY['Starknet guide', 'Paper reader', 'Invoice clerk', 'Trail planner', 'Release notes', 'Cafe helper']) WITH ORDINALITY AS a (name, n);

CREATE TEMP TABLE failure ON COMMIT DROP AS
SELECT n, text FROM unnest(ARRAY['Agent rag storage limit exceeded', 'Suspicious file content detected: ZIP archive. Only documents are accepted.',
  'PDF file is too small to be valid.', 'Embeddings/chunks mismatch: 41 vs 42', 'File ingestion failed']) WITH ORDINALITY AS f (text, n);

-- What has ended: of each agent, in the last 20 days.
INSERT INTO jobs (id, job_id, agent_id, user_id, status, error, created_at, started_at, completed_at, updated_at)
SELECT md5('job ' || n)::uuid, (3000 + n)::text, md5('agent ' || 1 + n % 6)::uuid, md5('user ' || (1 + n % 6) % 4)::uuid, CASE WHEN n % 31 = 0 THEN 'failed' ELSE 'completed' END,
       CASE WHEN n % 31 = 0 THEN (SELECT f.text FROM failure f WHERE f.n = 1 + n / 31 % 5) END, e.at - interval '50 seconds', e.at - interval '45 seconds', e.at, e.at
  FROM generate_series(1, 400) AS n CROSS JOIN LATERAL (SELECT now() - (401 - n) * interval '71 minutes' - interval '40 minutes' AS at) AS e;

-- What is unfinished: age, and for how long it has run or waited.
INSERT INTO jobs (id, job_id, agent_id, user_id, status, error, created_at, started_at, completed_at, updated_at)
SELECT md5('job ' || j.number)::uuid, (3000 + j.number)::text, md5('agent ' || j.agent)::uuid, md5('user ' || j.agent % 4)::uuid, j.status, j.error, now() - j.age,
       CASE WHEN j.status IN ('active', 'failed', 'completed') THEN now() - j.lasts - interval '20 seconds' END, CASE WHEN j.status IN ('failed', 'completed') THEN now() - j.lasts END, now() - j.lasts
  FROM (VALUES (401, 1, 'pending', NULL, interval '25 seconds', interval '25 seconds'), (402, 2, 'pending', NULL, interval '20 seconds', interval '20 seconds'),
               (403, 3, 'pending', NULL, interval '9 seconds', interval '9 seconds'), (404, 4, 'active', NULL, interval '40 seconds', interval '2 seconds'),
               (405, 5, 'active', NULL, interval '3 hours', interval '2 hours'), (406, 5, 'active', NULL, interval '5 hours', interval '5 hours' - interval '1 minute'), -- their executor died
               (407, 2, 'delayed', NULL, interval '3 hours', interval '1 hour'), (408, 2, 'delayed', NULL, interval '4 days', interval '3 days'), -- the time is lost
               (409, 6, 'paused', NULL, interval '2 hours', interval '1 hour'),
               (410, 6, 'paused', NULL, interval '16 days', interval '15 days'), --all
               (412, 3, 'completed', 'Agent rag storage limit exceeded', interval '3 hours', interval '179 minutes'), -- with an error --all
               (413, 99, 'completed', NULL, interval '40 days', interval '40 days' - interval '1 minute'), -- of an agent that is gone --all
               (411, 1, 'failed', NULL, interval '2 hours', interval '119 minutes') -- without a reason
       ) AS j (number, agent, status, error, age, lasts);
INSERT INTO jobs (job_id, agent_id, user_id, status, error, created_at, started_at, completed_at, updated_at) -- one reason for all, in half an hour
SELECT (3500 + n)::text, md5('agent 4')::uuid, md5('user 0')::uuid, 'failed', 'Failed to acquire mutex for user ' || md5('user 0')::uuid || ' after 50 retries', e.at - interval '31 seconds',
       e.at - interval '30 seconds', e.at, e.at
  FROM generate_series(1, 14) AS n CROSS JOIN LATERAL (SELECT now() - n * interval '2 minutes' AS at) AS e;
