-- Picked jobs, each with how often a worker took it and none ended it, of 100 log entries.
-- needs: picked
-- needs of ids: none
-- Indexes: pgqueuer_picked_heartbeat_idx (100 jobs), pgqueuer_log_job_id_status, pgqueuer_pkey.
picked AS MATERIALIZED (
  (SELECT o.id, o.entrypoint FROM :"schema".:"pgqueuer" o WHERE :ids IS NULL AND o.status = 'picked' ORDER BY o.heartbeat LIMIT 100)
  UNION ALL
  SELECT o.id, o.entrypoint FROM :"schema".:"pgqueuer" o WHERE o.id = ANY (:job_keys) AND o.status = 'picked'
),
nodes AS (
  SELECT 'job:' || j.id AS id, j.entrypoint, l.n, l.first
    FROM picked j
   CROSS JOIN LATERAL (SELECT count(*) FILTER (WHERE x.status = 'picked') AS n, min(x.created) AS first, bool_or(x.status NOT IN ('queued', 'picked')) AS ended
                         FROM (SELECT e.status, e.created FROM :"schema".:"pgqueuer_log" e
                                WHERE e.job_id >= j.id AND e.job_id <= j.id ORDER BY e.job_id, e.created DESC LIMIT 100) AS x) AS l
   WHERE l.n > 2 AND NOT l.ended
),
more AS (SELECT (SELECT count(*) FROM picked) = 100 AS more)
