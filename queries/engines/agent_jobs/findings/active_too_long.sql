-- Jobs that are active for too long: beyond the threshold, and beyond three times the usual run time of their agent's last
-- jobs. Only an executor that polls this table sets jobs to active. At most 2,000 jobs are
-- checked: those with the given ids; else the oldest, if an index starts with status and created_at; else those of
-- 500 users.
-- needs: by_user, by_agent
-- $1 ids text[]: local ids to check, or NULL for all
-- $2 settings jsonb
-- $3 page int: maximum number of rows
-- $4 met_needs text[]
-- Indexes: one on jobs(status, created_at), or that on jobs(user_id, status, created_at); one on jobs(agent_id, created_at), the
-- newest 50 jobs of at most 100 agents.
WITH RECURSIVE
\ir ../parts/users.sql
, active AS MATERIALIZED (
  (SELECT j.* FROM :"schema".jobs j
    WHERE $1::text[] IS NULL AND $2::jsonb ->> 'profile' = 'table' AND 'unfinished' = ANY ($4::text[]) AND j.status = 'active' ORDER BY j.created_at LIMIT 2000)
  UNION ALL
  (SELECT o.*
     FROM users u
    CROSS JOIN LATERAL (SELECT j.* FROM :"schema".jobs j WHERE j.user_id = u.user_id AND j.status = 'active' ORDER BY j.created_at LIMIT 1000) AS o
    WHERE $1::text[] IS NULL AND $2::jsonb ->> 'profile' = 'table' AND NOT 'unfinished' = ANY ($4::text[])
    LIMIT 2000)
  UNION ALL
  SELECT j.* FROM :"schema".jobs j
   WHERE j.id = ANY (ARRAY(SELECT substr(i, 5)::uuid FROM unnest($1::text[]) AS i WHERE i LIKE 'job:%')) AND j.status = 'active'
),
beyond AS MATERIALIZED (
  SELECT a.*
    FROM (SELECT j.id, j.job_id, j.agent_id, coalesce(j.started_at, j.updated_at) AS since FROM active j WHERE $2::jsonb ->> 'profile' = 'table') AS a
   WHERE a.since < now() - make_interval(secs => ($2::jsonb ->> 'active_too_long')::float8)
),
usual AS MATERIALIZED (
  SELECT a.agent_id, r.long
    FROM (SELECT b.agent_id FROM beyond b GROUP BY b.agent_id ORDER BY min(b.since), b.agent_id LIMIT 100) AS a
   CROSS JOIN LATERAL (SELECT percentile_disc(0.9) WITHIN GROUP (ORDER BY n.completed_at - n.started_at) AS long
                         FROM (SELECT j.status, j.started_at, j.completed_at FROM :"schema".jobs j WHERE j.agent_id = a.agent_id ORDER BY j.created_at DESC LIMIT 50) AS n
                        WHERE n.status = 'completed' AND isfinite(n.started_at) AND isfinite(n.completed_at)
                       HAVING count(*) >= 5) AS r
)
(SELECT 'job:' || a.id AS id, extract(epoch FROM a.since)::float8 AS since,
        jsonb_build_object('job_id', a.job_id, 'started_at', date_trunc('second', a.since)::text,
                           'age', CASE WHEN isfinite(a.since) THEN date_trunc('second', now() - a.since)::text ELSE 'infinite time' END) AS evidence
   FROM beyond a LEFT JOIN usual u ON u.agent_id = a.agent_id
  WHERE NOT isfinite(a.since) OR u.long IS NULL OR now() - a.since > 3 * u.long
  ORDER BY a.since, a.id
  LIMIT $3::int)
UNION ALL
SELECT NULL, NULL, NULL
 WHERE $1::text[] IS NULL AND $2::jsonb ->> 'profile' = 'table'
   AND ((SELECT count(*) FROM active) = 2000 OR NOT 'unfinished' = ANY ($4::text[]) AND (SELECT count(*) FROM users) = 500)
