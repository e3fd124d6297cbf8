-- Jobs number 1, the newest, to large.rows. Up to large.live every status comes about as often as any other, beyond all
-- have ended. Of the first large.live jobs there are thirty an agent, of whom every tenth is gone, and sixty a user: more
-- than is looked at of one, so that in a larger table no more is there to be found. A quarter of all is one agent's. The
-- more are unfinished the faster they were made: in the last minutes as many of each user.
ALTER TABLE jobs DROP CONSTRAINT jobs_agent_id_fkey; -- so that agents may be missing

INSERT INTO agents (id, user_id, profile)
SELECT md5('agent ' || n)::uuid, md5('user ' || n / 2)::uuid, row('agent ' || n, 'group', '', NULL)::agent_profile
  FROM generate_series(0, current_setting('large.live')::int8 / 40) AS n
 WHERE n % 10 > 0;

INSERT INTO jobs (job_id, agent_id, user_id, status, error, created_at, started_at, completed_at, updated_at)
SELECT (current_setting('large.rows')::int8 - n)::text, md5('agent ' || k.agent)::uuid, md5('user ' || k.agent / 2)::uuid, k.status,
       CASE WHEN k.status = 'failed' THEN 'the file could not be read' END, k.at,
       CASE WHEN k.status IN ('active', 'completed', 'failed') THEN k.at END,
       CASE WHEN k.status IN ('completed', 'failed') THEN k.at + interval '10 seconds' END, k.at
  FROM generate_series(1, current_setting('large.rows')::int8) AS n
 CROSS JOIN LATERAL (
   SELECT now() - make_interval(secs => 60 + n * 10000.0 / current_setting('large.live')::int8) AS at,
          CASE WHEN n % 4 = 0 THEN 1 ELSE n % (1 + current_setting('large.live')::int8 / 40) END AS agent,
          CASE WHEN n <= current_setting('large.live')::int8
               THEN (ARRAY['pending', 'active', 'delayed', 'paused', 'completed', 'failed'])[1 + n % 6]
               ELSE (ARRAY['completed', 'failed'])[1 + (n % 10 = 0)::int] END AS status) AS k;
