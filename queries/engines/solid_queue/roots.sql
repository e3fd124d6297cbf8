-- Processes, recurring tasks, and queues that have jobs.
-- cursor: rank|key of the last row of the previous page, or NULL
-- Indexes: solid_queue_processes_pkey, the one on solid_queue_recurring_tasks(key), one on solid_queue_jobs(queue_name)
-- as a loose index scan.
WITH RECURSIVE place AS (
  SELECT coalesce(left(:cursor, 1), '0') AS rank, coalesce(substr(:cursor, 3), '') AS key
),
queues AS (
  SELECT (SELECT j.queue_name FROM :"schema".solid_queue_jobs j
           WHERE l.rank < '3' OR j.queue_name > l.key ORDER BY j.queue_name LIMIT 1) AS name FROM place l
  UNION ALL
  SELECT (SELECT j.queue_name FROM :"schema".solid_queue_jobs j WHERE j.queue_name > q.name ORDER BY j.queue_name LIMIT 1)
    FROM queues q WHERE q.name IS NOT NULL
)
(SELECT n.id, n.rank || '|' || n.key AS cursor
  FROM ((SELECT '1' AS rank, 'process:' || p.id AS id, lpad(p.id::text, 19, '0') AS key
           FROM :"schema".solid_queue_processes p, place l
          WHERE l.rank < '1' OR l.rank = '1' AND p.id > CASE WHEN l.rank = '1' THEN l.key::int8 END
          ORDER BY p.id LIMIT :limit)
        UNION ALL
        (SELECT '2', 'recurring:' || t.key, t.key
           FROM :"schema".solid_queue_recurring_tasks t, place l
          WHERE l.rank < '2' OR l.rank = '2' AND t.key > l.key
          ORDER BY t.key LIMIT :limit)
        UNION ALL
        (SELECT '3', 'queue:' || q.name, q.name FROM queues q WHERE q.name IS NOT NULL LIMIT :limit)) AS n
 ORDER BY n.rank, n.key
 LIMIT :limit)
UNION ALL
SELECT NULL, 'unfinished jobs'
