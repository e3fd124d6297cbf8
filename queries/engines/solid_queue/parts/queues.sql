-- Queues with ready jobs, at most 500, each with its next job, whether it is paused, and how many living workers take
-- its jobs. A worker whose metadata names no queues may take any.
-- Indexes: one on solid_queue_ready_executions(queue_name, priority, job_id), as a loose index scan; one on
-- solid_queue_processes(last_heartbeat_at); the one on solid_queue_pauses(queue_name).
leaps AS (
  (SELECT r.queue_name FROM :"schema".solid_queue_ready_executions r WHERE :ids IS NULL ORDER BY r.queue_name LIMIT 1)
  UNION ALL
  SELECT (SELECT r.queue_name FROM :"schema".solid_queue_ready_executions r WHERE r.queue_name > l.queue_name ORDER BY r.queue_name LIMIT 1)
    FROM leaps l WHERE l.queue_name IS NOT NULL
),
names AS MATERIALIZED (
  (SELECT l.queue_name::text AS name FROM leaps l WHERE l.queue_name IS NOT NULL LIMIT 501)
  UNION ALL
  SELECT substr(i, 7) FROM unnest(:ids) AS i WHERE i LIKE 'queue:%'
),
workers AS MATERIALIZED (
  SELECT p.id, string_to_array(replace(coalesce(substring(p.metadata FROM '"queues": ?"([^"]*)"'), '*'), ' ', ''), ',') AS queues
    FROM (SELECT * FROM :"schema".solid_queue_processes p
           WHERE p.last_heartbeat_at >= timezone('UTC', now()) - :alive
           ORDER BY p.last_heartbeat_at DESC LIMIT 1000) AS p
   WHERE p.kind = 'Worker'
),
nodes AS MATERIALIZED (
  SELECT 'queue:' || n.name AS id, n.name, h.created_at, u.created_at AS paused_at, (SELECT count(*) FROM workers) AS workers,
         (SELECT count(*) FROM workers w
           WHERE EXISTS (SELECT FROM unnest(w.queues) AS q(name)
                          WHERE q.name IN ('*', n.name) OR right(q.name, 1) = '*' AND starts_with(n.name, left(q.name, -1)))) AS serving
    FROM (SELECT n.name FROM names n LIMIT 500) AS n
   CROSS JOIN LATERAL (SELECT r.created_at FROM :"schema".solid_queue_ready_executions r
                        WHERE r.queue_name = n.name ORDER BY r.priority, r.job_id LIMIT 1) AS h
    LEFT JOIN :"schema".solid_queue_pauses u ON u.queue_name = n.name
),
more AS (SELECT (SELECT count(*) FROM names) > 500 AS more)
