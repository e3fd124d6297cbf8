-- Unfinished jobs: those that run, the ready ones in the order in which workers take them, the blocked ones, and the
-- scheduled ones, earliest first.
-- cursor: rank|key|key|id of the last row of the previous page, or NULL
-- Indexes: the primary keys, one on solid_queue_ready_executions(priority, job_id), one on
-- solid_queue_scheduled_executions(scheduled_at, priority, job_id).
WITH place AS (
  SELECT coalesce(split_part(:cursor, '|', 1)::int, 0) AS rank, nullif(split_part(:cursor, '|', 2), '') AS first,
         nullif(split_part(:cursor, '|', 3), '')::int AS priority, nullif(split_part(:cursor, '|', 4), '')::int8 AS id
)
SELECT 'job:' || n.job_id AS id, concat_ws('|', n.rank, coalesce(n.at::text, ''), coalesce(n.priority::text, ''), n.key) AS cursor
  FROM ((SELECT 1 AS rank, c.job_id, NULL::timestamp AS at, NULL::int AS priority, c.id AS key
           FROM :"schema".solid_queue_claimed_executions c, place l
          WHERE c.id > CASE l.rank WHEN 0 THEN 0 WHEN 1 THEN l.id END
          ORDER BY c.id LIMIT :limit)
        UNION ALL
        (SELECT 2, r.job_id, NULL, r.priority, r.job_id
           FROM :"schema".solid_queue_ready_executions r, place l
          WHERE l.rank < 2 OR l.rank = 2 AND (r.priority, r.job_id) > (l.priority, l.id)
          ORDER BY r.priority, r.job_id LIMIT :limit)
        UNION ALL
        (SELECT 3, b.job_id, NULL, NULL, b.id
           FROM :"schema".solid_queue_blocked_executions b, place l
          WHERE b.id > CASE WHEN l.rank < 3 THEN 0 WHEN l.rank = 3 THEN l.id END
          ORDER BY b.id LIMIT :limit)
        UNION ALL
        (SELECT 4, s.job_id, s.scheduled_at, s.priority, s.job_id
           FROM :"schema".solid_queue_scheduled_executions s, place l
          WHERE l.rank < 4 OR (s.scheduled_at, s.priority, s.job_id) > (CASE l.rank WHEN 4 THEN l.first END::timestamp, l.priority, l.id)
          ORDER BY s.scheduled_at, s.priority, s.job_id LIMIT :limit)) AS n
 ORDER BY n.rank, n.at, n.priority, n.key
 LIMIT :limit
