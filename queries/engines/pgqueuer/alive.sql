-- Workers that run jobs, each with its newest heartbeat and the entrypoints of these jobs. A worker without a job does not beat:
-- each session of another program may be one.
-- needs: picked
-- Index: pgqueuer_picked_heartbeat_idx; of the newest heartbeats, 1,000 are read.
SELECT o.queue_manager_id::text AS worker, extract(epoch FROM max(o.heartbeat))::float8 AS seen, max(o.heartbeat) >= now() - :heartbeat_timeout AS alive,
       jsonb_agg(DISTINCT o.entrypoint) AS serves, false AS only
  FROM (SELECT j.queue_manager_id, j.heartbeat, j.entrypoint FROM :"schema".:"pgqueuer" j
         WHERE j.status = 'picked' AND j.queue_manager_id IS NOT NULL ORDER BY j.heartbeat DESC LIMIT 1000) AS o
 GROUP BY o.queue_manager_id
UNION ALL
SELECT 'sessions of other programs', NULL, NULL, '[]', false
 WHERE EXISTS (SELECT FROM pg_catalog.pg_stat_activity a
                WHERE a.datname = current_database() AND coalesce(a.backend_type, 'client backend') = 'client backend'
                  AND a.application_name IS DISTINCT FROM current_setting('application_name'))
