-- Queues by name, each with its number of ready jobs, up to 1,000.
-- Indexes: one on solid_queue_jobs(queue_name), one on solid_queue_ready_executions(queue_name), the one on solid_queue_pauses.
SELECT q.id, NULL::text AS parent_id, 'queue' AS kind,
       q.name || CASE WHEN n.ready > 1000 THEN ' - 1,000+ ready' WHEN n.ready > 0 THEN ' - ' || n.ready || ' ready' ELSE '' END AS title,
       CASE WHEN u.id IS NULL THEN 'open' ELSE 'paused' END AS status,
       CASE WHEN u.id IS NOT NULL THEN NULL WHEN n.ready > 0 THEN 'ready' ELSE 'done' END AS phase,
       extract(epoch FROM u.created_at)::float8 AS changed_at,
       coalesce('paused ' || u.xmin, 'open') AS version, extract(epoch FROM now())::float8 AS now
  FROM (SELECT i AS id, substr(i, 7) AS name FROM unnest(:ids) AS i WHERE i LIKE 'queue:%') AS q
  LEFT JOIN :"schema".solid_queue_pauses u ON u.queue_name = q.name
 CROSS JOIN LATERAL (SELECT count(*) AS ready
                       FROM (SELECT FROM :"schema".solid_queue_ready_executions r WHERE r.queue_name = q.name LIMIT 1001) AS o) AS n
 WHERE u.id IS NOT NULL OR EXISTS (SELECT FROM :"schema".solid_queue_jobs j WHERE j.queue_name = q.name)
