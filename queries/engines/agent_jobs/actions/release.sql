-- Set jobs that are active for longer than the threshold to pending and clear their started_at.
-- $1 ids text[]: local ids
-- $2 versions text[]: for each id, the version that the operator saw: status, updated_at and xmin
-- $3 settings jsonb
-- Index: jobs_pkey.

\ir ../parts/lock.sql

-- :refused
SELECT r.id, r.why
  FROM (SELECT 'job:' || j.id AS id,
               CASE WHEN j.status NOT IN ('active') THEN 'the job is ' || j.status || ', not active: no executor holds it'
                    WHEN NOT coalesce(j.started_at, j.updated_at) < now() - make_interval(secs => ($3::jsonb ->> 'active_too_long')::float8)
                      THEN 'the job is active for less than ' || make_interval(secs => ($3::jsonb ->> 'active_too_long')::float8) || ': an executor may still run it'
               END AS why
          FROM :"schema".jobs j
         WHERE j.id = ANY (ARRAY(SELECT substr(i, 5)::uuid FROM unnest($1::text[]) AS i))) AS r
 WHERE r.why IS NOT NULL

-- :witnesses
-- No executor is recorded: agent_id is what the job is for, not the process that runs it.
-- Index: idx_jobs_agent_id_created_at (the newest 50 jobs of each agent).
WITH asked AS MATERIALIZED (
  SELECT 'job:' || j.id AS id, j.id AS job, j.agent_id, coalesce(j.started_at, j.updated_at) AS started,
         now() - coalesce(j.started_at, j.updated_at) AS age, make_interval(secs => ($3::jsonb ->> 'active_too_long')::float8) AS patience
    FROM :"schema".jobs j
   WHERE j.id = ANY (ARRAY(SELECT substr(i, 5)::uuid FROM unnest($1::text[]) AS i)) AND j.status = 'active'
),
others AS MATERIALIZED (
  SELECT k.agent_id, o.id, o.status, o.created_at, o.started_at, o.completed_at
    FROM (SELECT DISTINCT a.agent_id FROM asked a) AS k
   CROSS JOIN LATERAL (SELECT j.id, j.status, j.created_at, j.started_at, j.completed_at FROM :"schema".jobs j
                        WHERE j.agent_id = k.agent_id ORDER BY j.created_at DESC LIMIT 50) AS o
),
usual AS MATERIALIZED (
  SELECT o.agent_id, count(o.completed_at - o.started_at) AS n, max(o.completed_at - o.started_at) AS longest,
         max(greatest(o.started_at, o.completed_at)) FILTER (WHERE o.completed_at IS NOT NULL) AS moved,
         min(o.created_at) FILTER (WHERE o.status = 'pending') AS waiting
    FROM others o GROUP BY o.agent_id
)
SELECT a.id AS id, w.witness AS witness, w.verdict AS verdict, w.detail AS detail, extract(epoch FROM a.started)::float8 AS since
  FROM asked a JOIN usual u ON u.agent_id = a.agent_id
 CROSS JOIN LATERAL (
   SELECT 'heartbeat', 'unknown', 'not recorded: the engine has no heartbeat, lease or owner'
   UNION ALL
   SELECT 'run time',
    CASE WHEN u.n = 0 THEN 'unknown' WHEN a.age <= u.longest THEN 'alive'
         WHEN u.n >= 3 AND a.age > greatest(a.patience, 3 * u.longest) THEN 'dead' ELSE 'unknown' END,
    'active for ' || date_trunc('second', a.age) || CASE WHEN u.n = 0 THEN '; no run time of the agent''s newest 50 jobs is recorded'
      ELSE '; the longest of ' || u.n || ' runs of the agent''s newest 50 jobs took ' || date_trunc('second', u.longest) END
   UNION ALL
   SELECT 'other jobs of the agent',
    CASE WHEN coalesce(u.moved, '-infinity') < a.started AND a.age > a.patience AND u.waiting < now() - a.patience THEN 'dead' ELSE 'unknown' END,
    CASE WHEN u.moved >= a.started THEN 'one ended ' || date_trunc('second', now() - u.moved) || ' ago; which executor runs this job is not recorded'
         ELSE 'none ended since this job became active' || coalesce('; the oldest pending job has waited for ' || date_trunc('second', now() - u.waiting), '; none is pending') END
 ) AS w(witness, verdict, detail)

\ir ../parts/rows.sql

-- :change
UPDATE :"schema".jobs j SET status = 'pending', started_at = NULL, updated_at = clock_timestamp()
  FROM unnest($1::text[], $2::text[]) AS seen(id, version)
 WHERE j.id = substr(seen.id, 5)::uuid
   AND j.status IN ('active')
   AND j.status || '|' || j.updated_at || ':' || j.xmin = seen.version
   AND coalesce(j.started_at, j.updated_at) < now() - make_interval(secs => ($3::jsonb ->> 'active_too_long')::float8)
RETURNING 'job:' || j.id AS id
