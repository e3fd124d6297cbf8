-- Entrypoints whose first job is due for long, while no job of the entrypoint is running, and none of the newest 2,000
-- log entries says that one was picked since. Entrypoints at their concurrency limit have a running job.
-- needs: queued_by_entrypoint, picked, log_by_time
-- Indexes: pgqueuer_ep_ea_idx (a loose index scan over 500 entrypoints), pgqueuer_picked_heartbeat_idx, pgqueuer_log_created.
WITH \ir ../parts/entrypoints.sql
, asked AS MATERIALIZED (
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
-- Number of workers that beat, as a sentence. A worker without a job does not beat, so each session of another program may be one.
alive AS MATERIALIZED (
  SELECT CASE count(DISTINCT o.queue_manager_id) WHEN 0 THEN 'No worker runs a job. '
                || CASE WHEN EXISTS (SELECT FROM pg_catalog.pg_stat_activity a
                                      WHERE a.datname = current_database() AND coalesce(a.backend_type, 'client backend') = 'client backend'
                                        AND a.application_name IS DISTINCT FROM current_setting('application_name'))
                        THEN 'One without a job does not beat: sessions of other programs are connected, and may be workers' ELSE 'No other program is connected to this database' END
              WHEN 1 THEN 'One worker runs other jobs' ELSE 'Workers that run other jobs: ' || CASE count(*) WHEN 1000 THEN 'at least ' ELSE '' END || count(DISTINCT o.queue_manager_id) END AS text
    FROM (SELECT j.queue_manager_id FROM :"schema".:"pgqueuer" j
           WHERE j.status = 'picked' AND j.heartbeat >= now() - :heartbeat_timeout
           ORDER BY j.heartbeat LIMIT 1000) AS o
)
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
