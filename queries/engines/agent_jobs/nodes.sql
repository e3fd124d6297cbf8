-- Jobs, users and the queue by id, one row for each id that exists.
-- kinds: job user queue
-- Indexes: jobs_pkey, one on jobs(user_id, status, created_at).
WITH wanted AS MATERIALIZED (
  SELECT i AS id, split_part(i, ':', 1) AS kind,
         CASE WHEN split_part(i, ':', 2) ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' THEN split_part(i, ':', 2)::uuid END AS key
    FROM unnest(:ids) AS i
),
\ir parts/asked.sql
, users AS (
  SELECT w.id, w.key, c.pending, c.active, c.delayed, c.paused, c.last
    FROM wanted w
   CROSS JOIN LATERAL (
         SELECT (SELECT count(*) FROM (SELECT FROM :"schema".jobs j WHERE j.user_id = w.key AND j.status = 'pending' LIMIT 101) x) AS pending,
                (SELECT count(*) FROM (SELECT FROM :"schema".jobs j WHERE j.user_id = w.key AND j.status = 'active' LIMIT 101) x) AS active,
                (SELECT count(*) FROM (SELECT FROM :"schema".jobs j WHERE j.user_id = w.key AND j.status = 'delayed' LIMIT 101) x) AS delayed,
                (SELECT count(*) FROM (SELECT FROM :"schema".jobs j WHERE j.user_id = w.key AND j.status = 'paused' LIMIT 101) x) AS paused,
                greatest((SELECT j.created_at FROM :"schema".jobs j WHERE j.user_id = w.key AND j.status = 'pending' ORDER BY j.created_at DESC LIMIT 1),
                         (SELECT j.created_at FROM :"schema".jobs j WHERE j.user_id = w.key AND j.status = 'active' ORDER BY j.created_at DESC LIMIT 1),
                         (SELECT j.created_at FROM :"schema".jobs j WHERE j.user_id = w.key AND j.status = 'delayed' ORDER BY j.created_at DESC LIMIT 1),
                         (SELECT j.created_at FROM :"schema".jobs j WHERE j.user_id = w.key AND j.status = 'paused' ORDER BY j.created_at DESC LIMIT 1),
                         (SELECT j.created_at FROM :"schema".jobs j WHERE j.user_id = w.key AND j.status = 'completed' ORDER BY j.created_at DESC LIMIT 1),
                         (SELECT j.created_at FROM :"schema".jobs j WHERE j.user_id = w.key AND j.status = 'failed' ORDER BY j.created_at DESC LIMIT 1)) AS last) AS c
   WHERE w.kind = 'user' AND c.last IS NOT NULL
)
SELECT 'job:' || j.id AS id,
       CASE :settings ->> 'group' WHEN 'user' THEN 'user:' || j.user_id ELSE 'agent:' || j.agent_id END AS parent_id,
       'job' AS kind, 'job ' || j.job_id AS title, j.status::text AS status, NULL::text AS phase,
       extract(epoch FROM j.created_at)::float8 AS created_at, extract(epoch FROM j.updated_at)::float8 AS changed_at, j.error::text AS error,
       j.xmin::text AS version, extract(epoch FROM now())::float8 AS now,
       j.ctid::text AS place
  FROM asked j
UNION ALL
SELECT 'user:' || u.key, NULL, 'user',
       'user ' || u.key || ' - ' || CASE WHEN n.open = 0 THEN 'nothing unfinished' WHEN n.open > 100 THEN '100+ unfinished' ELSE n.open || ' unfinished' END,
       NULL,
       CASE WHEN u.active > 0 THEN 'running' WHEN u.pending > 0 THEN 'ready' WHEN u.delayed > 0 THEN 'scheduled' WHEN u.paused > 0 THEN 'held' ELSE 'done' END,
       NULL, extract(epoch FROM u.last)::float8, NULL, '-', extract(epoch FROM now())::float8, NULL
  FROM users u CROSS JOIN LATERAL (SELECT u.pending + u.active + u.delayed + u.paused AS open) AS n
UNION ALL
SELECT w.id, NULL, 'queue',
       CASE :settings ->> 'profile' WHEN 'table' THEN 'queue' ELSE 'queue (Bull, in Redis)' END, NULL, 'unknown',
       NULL, NULL, NULL, '-', extract(epoch FROM now())::float8, NULL
  FROM wanted w
 WHERE w.id = 'queue:all'
