-- Claimed jobs whose process is silent or no longer registered. Without ids, those of at most 500 processes with claims, so that a
-- dead one is found behind any number of claims of living ones.
-- Index: one on solid_queue_claimed_executions(process_id, job_id), as a loose index scan.
WITH RECURSIVE leaps AS (
  (SELECT c.process_id FROM :"schema".solid_queue_claimed_executions c WHERE :ids IS NULL ORDER BY c.process_id LIMIT 1)
  UNION ALL
  SELECT (SELECT c.process_id FROM :"schema".solid_queue_claimed_executions c WHERE c.process_id > l.process_id ORDER BY c.process_id LIMIT 1)
    FROM leaps l WHERE l.process_id IS NOT NULL
),
owners AS MATERIALIZED (SELECT l.process_id FROM leaps l WHERE l.process_id IS NOT NULL LIMIT 501),
dead AS MATERIALIZED (
  SELECT o.process_id FROM (SELECT o.process_id FROM owners o LIMIT 500) AS o
   WHERE NOT EXISTS (SELECT FROM :"schema".solid_queue_processes p WHERE p.id = o.process_id AND p.last_heartbeat_at >= timezone('UTC', now()) - :alive)
),
claims AS MATERIALIZED (
  SELECT c.* FROM dead d
   CROSS JOIN LATERAL (SELECT c.job_id, c.process_id, c.created_at FROM :"schema".solid_queue_claimed_executions c
                        WHERE (c.process_id, c.job_id) > (d.process_id, 0) AND c.process_id <= d.process_id
                        ORDER BY c.process_id, c.job_id LIMIT :limit) AS c
  UNION ALL
  (SELECT c.job_id, c.process_id, c.created_at FROM :"schema".solid_queue_claimed_executions c
    WHERE :ids IS NULL AND c.process_id IS NULL LIMIT :limit)
  UNION ALL
  SELECT c.job_id, c.process_id, c.created_at FROM :"schema".solid_queue_claimed_executions c
   WHERE c.job_id = ANY (:job_keys)
)
(SELECT 'job:' || c.job_id AS id, extract(epoch FROM coalesce(p.last_heartbeat_at, c.created_at))::float8 AS since,
        jsonb_build_object('owner', c.process_id::text, 'taken', date_trunc('second', c.created_at)::text,
          'seen', date_trunc('second', coalesce(p.last_heartbeat_at, c.created_at))::text, 'key', j.concurrency_key, 'taken_early', CASE WHEN isfinite(j.created_at) AND isfinite(c.created_at) THEN extract(epoch FROM j.created_at - c.created_at)::float8 END,
          'process', CASE WHEN p.id IS NULL THEN coalesce('process ' || c.process_id || ', which is not registered any more', 'no process')
                          ELSE p.kind || ' ' || p.id || coalesce(' on ' || p.hostname, '') || ', pid ' || p.pid || ', silent since '
                               || date_trunc('second', p.last_heartbeat_at) || ' UTC' END) AS evidence
   FROM (SELECT * FROM claims LIMIT 2000) AS c
  CROSS JOIN LATERAL (SELECT j.concurrency_key, j.created_at FROM :"schema".solid_queue_jobs j WHERE j.id = c.job_id LIMIT 1) AS j
   LEFT JOIN LATERAL (SELECT * FROM :"schema".solid_queue_processes p WHERE p.id = c.process_id LIMIT 1) AS p ON true
  WHERE p.id IS NULL OR p.last_heartbeat_at < timezone('UTC', now()) - :alive
  ORDER BY c.created_at, c.job_id
  LIMIT :limit)
UNION ALL
SELECT NULL, NULL, NULL WHERE (SELECT count(*) FROM owners) > 500
UNION ALL
SELECT NULL, NULL, NULL WHERE (SELECT count(*) FROM (SELECT FROM claims LIMIT 2001) AS o) > 2000
