-- Who else may be running a job that is to be released.
-- Index: jobs_pkey.

-- :witnesses
-- No executor is recorded: agent_id is what the job is for, not the process that runs it.
-- Index: idx_jobs_agent_id_created_at (the newest 50 jobs of each agent).
WITH asked AS MATERIALIZED (
  SELECT 'job:' || j.id AS id, j.id AS job, j.agent_id, coalesce(j.started_at, j.updated_at) AS started,
         CASE WHEN isfinite(coalesce(j.started_at, j.updated_at)) THEN now() - coalesce(j.started_at, j.updated_at) END AS age,
         :active_too_long AS patience
    FROM :"schema".jobs j
   WHERE j.id = ANY (:job_keys) AND j.status = 'active'
),
others AS MATERIALIZED (
  SELECT k.agent_id, o.id, o.status, o.created_at, o.started_at, o.completed_at,
         CASE WHEN isfinite(o.started_at) AND isfinite(o.completed_at) THEN o.completed_at - o.started_at END AS took
    FROM (SELECT DISTINCT a.agent_id FROM asked a) AS k
   CROSS JOIN LATERAL (SELECT j.id, j.status, j.created_at, j.started_at, j.completed_at FROM :"schema".jobs j
                        WHERE j.agent_id = k.agent_id ORDER BY j.created_at DESC LIMIT 50) AS o
),
usual AS MATERIALIZED (
  SELECT o.agent_id, count(o.took) AS n, max(o.took) AS longest,
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
    'active ' || coalesce('for ' || date_trunc('second', a.age), 'since ' || a.started) || CASE WHEN u.n = 0 THEN '; no run time of the agent''s newest 50 jobs is recorded'
      ELSE '; the longest of ' || u.n || ' runs of the agent''s newest 50 jobs took ' || date_trunc('second', u.longest) END
   UNION ALL
   SELECT 'other jobs of the agent',
    CASE WHEN coalesce(u.moved, '-infinity') < a.started AND a.age > a.patience AND u.waiting < now() - a.patience THEN 'dead' ELSE 'unknown' END,
    CASE WHEN u.moved >= a.started THEN 'one ended ' || date_trunc('second', now() - u.moved) || ' ago; which executor runs this job is not recorded'
         ELSE 'none ended since this job became active' || coalesce('; the oldest pending job has waited for ' || date_trunc('second', now() - u.waiting), '; none is pending') END
 ) AS w(witness, verdict, detail)
