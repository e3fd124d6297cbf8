-- Entrypoints whose first job is due for long, while no job of the entrypoint is running, and none of the newest 2,000
-- log entries says that one was picked since. Entrypoints at their concurrency limit have a running job.
-- needs: queued_by_entrypoint, picked, log_by_time
-- Indexes: pgqueuer_ep_ea_idx (a loose index scan over 500 entrypoints), pgqueuer_picked_heartbeat_idx, pgqueuer_log_created.
WITH
\ir ../parts/entrypoints.sql
,
asked AS MATERIALIZED (
  SELECT e.name FROM entrypoints e WHERE :ids IS NULL
  UNION ALL
  SELECT DISTINCT substr(i, 12) FROM unnest(:ids) AS i WHERE i LIKE 'entrypoint:%'
),
picks AS MATERIALIZED (
  SELECT l.entrypoint, max(l.created) AS last
    FROM (SELECT g.entrypoint, g.status, g.created FROM :"schema".:"pgqueuer_log" g ORDER BY g.created DESC LIMIT 2000) AS l
   WHERE l.status = 'picked' GROUP BY l.entrypoint
),
running AS MATERIALIZED (
  SELECT j.entrypoint FROM :"schema".:"pgqueuer" j WHERE j.status = 'picked' ORDER BY j.heartbeat DESC LIMIT 2000
),
\ir ../parts/alive.sql
(SELECT 'entrypoint:' || a.name AS id, extract(epoch FROM f.execute_after)::float8 AS since,
        jsonb_build_object('entrypoint', a.name, 'oldest', date_trunc('second', f.execute_after)::text, 'workers', (SELECT v.text FROM alive v)) AS evidence
   FROM asked a
  CROSS JOIN LATERAL (SELECT j.execute_after FROM :"schema".:"pgqueuer" j
                       WHERE j.status = 'queued' AND j.entrypoint = a.name ORDER BY j.entrypoint, j.execute_after LIMIT 1) AS f
   LEFT JOIN picks p ON p.entrypoint = a.name
  WHERE f.execute_after < now() - :not_served
    AND (p.last IS NULL OR p.last < f.execute_after) AND a.name NOT IN (SELECT r.entrypoint FROM running r)
  ORDER BY f.execute_after, a.name
  LIMIT :limit)
UNION ALL
SELECT NULL, NULL, NULL WHERE :ids IS NULL AND (SELECT count(*) FROM entrypoints) = 500
