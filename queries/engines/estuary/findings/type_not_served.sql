-- Ready tasks of a type without a running poll: no process serves the type. Reported once for each type, at its oldest task.
-- $1 ids text[]: local ids to check, or NULL for all
-- $2 settings jsonb: heartbeat_timeout and dequeue_interval by type; names
-- $3 page int: maximum number of rows
-- Index: idx_tasks_ready_at, the first 5,000 rows and the last 5,000 before now(): tasks being polled are due, too.
WITH due AS MATERIALIZED (
  (SELECT task_id, task_type, wake_at, heartbeat FROM :"schema".tasks WHERE wake_at <= now() ORDER BY wake_at LIMIT 5000)
  UNION
  (SELECT task_id, task_type, wake_at, heartbeat FROM :"schema".tasks WHERE wake_at <= now() ORDER BY wake_at DESC LIMIT 5000)
),
types AS MATERIALIZED (
  SELECT d.task_type, max(d.heartbeat) AS newest, min(l.timeout) AS timeout, min(l.patience) AS patience
    FROM due d
   CROSS JOIN LATERAL (
           SELECT make_interval(secs => coalesce($2::jsonb -> d.task_type::text ->> 'heartbeat_timeout', $2::jsonb ->> 'heartbeat_timeout')::float8) AS timeout,
                  3 * make_interval(secs => coalesce($2::jsonb -> d.task_type::text ->> 'dequeue_interval', $2::jsonb ->> 'dequeue_interval')::float8) AS patience) AS l
   GROUP BY d.task_type
),
ready AS (
  SELECT t.task_id, t.task_type, t.wake_at, y.timeout, count(*) OVER of_type AS waiting, min(t.wake_at) OVER of_type AS first,
         row_number() OVER (of_type ORDER BY t.wake_at, t.task_id) AS place
    FROM due t JOIN types y ON y.task_type = t.task_type
   WHERE t.heartbeat = '0001-01-01T00:00:00Z'::timestamptz
     AND t.wake_at < now() - y.patience
     AND y.newest <= now() - y.timeout
  WINDOW of_type AS (PARTITION BY t.task_type)
)
(SELECT 'task:' || t.task_id AS id, extract(epoch FROM t.wake_at)::float8 AS since,
        jsonb_build_object('waiting', t.waiting, 'due', date_trunc('second', t.first)::timestamp::text, 'timeout', t.timeout::text,
                           'type', coalesce($2::jsonb -> 'names' ->> t.task_type::text, 'type ' || t.task_type)) AS evidence
   FROM ready t
  WHERE CASE WHEN $1::text[] IS NULL THEN t.place = 1
             ELSE t.task_id = ANY (ARRAY(SELECT substr(i, 6)::macaddr8 FROM unnest($1::text[]) i WHERE i LIKE 'task:%')) END
  ORDER BY t.wake_at, t.task_id
  LIMIT $3::int)
UNION ALL
SELECT NULL, NULL, NULL WHERE $1::text[] IS NULL AND (SELECT count(*) FROM due) = 10000
