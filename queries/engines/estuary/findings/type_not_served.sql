-- Types with due tasks, none of which is being polled. Reported once for each type, at its oldest due task. A task counts if
-- it is idle and due for three dequeue intervals, or if its last heartbeat is older than twice the timeout. Heartbeats ahead
-- of the server's clock are not polls. served_by is the executor process if it polls no type at all, else the type.
-- $1 ids text[]: local ids to check, or NULL for all
-- $2 settings jsonb: heartbeat_timeout and dequeue_interval by type; names, executors
-- $3 page int: maximum number of rows
-- Index: idx_tasks_ready_at, the first 5,000 rows and the last 5,000 before now(): tasks being polled are due, too.
WITH due AS MATERIALIZED (
  (SELECT task_id, task_type, wake_at, heartbeat FROM :"schema".tasks WHERE wake_at <= now() ORDER BY wake_at LIMIT 5000)
  UNION
  (SELECT task_id, task_type, wake_at, heartbeat FROM :"schema".tasks WHERE wake_at <= now() ORDER BY wake_at DESC LIMIT 5000)
),
types AS MATERIALIZED (
  SELECT y.*, $2::jsonb -> 'executors' ->> y.task_type::text AS executor,
         coalesce($2::jsonb -> 'names' ->> y.task_type::text, 'type ' || y.task_type) AS type,
         coalesce(y.newest > now() - y.timeout, false) AS polled
    FROM (SELECT d.task_type, max(d.heartbeat) FILTER (WHERE d.heartbeat <= now() + interval '1 minute') AS newest,
                 min(l.timeout) AS timeout, min(l.patience) AS patience
            FROM due d
           CROSS JOIN LATERAL (
                   SELECT make_interval(secs => coalesce($2::jsonb -> d.task_type::text ->> 'heartbeat_timeout', $2::jsonb ->> 'heartbeat_timeout')::float8) AS timeout,
                          3 * make_interval(secs => coalesce($2::jsonb -> d.task_type::text ->> 'dequeue_interval', $2::jsonb ->> 'dequeue_interval')::float8) AS patience) AS l
           GROUP BY d.task_type) AS y
),
judged AS MATERIALIZED (
  SELECT y.*, bool_or(y.polled) OVER (PARTITION BY coalesce(y.executor, y.type)) AS executor_polls FROM types y
),
ready AS (
  SELECT t.task_id, t.wake_at, y.type, y.timeout, y.executor, y.executor_polls, count(*) OVER of_type AS waiting,
         min(t.wake_at) OVER of_type AS first, row_number() OVER (of_type ORDER BY t.wake_at, t.task_id) AS place
    FROM due t JOIN judged y ON y.task_type = t.task_type
   WHERE NOT y.polled
     AND CASE WHEN t.heartbeat <= '0001-01-01T00:00:00Z'::timestamptz THEN t.wake_at < now() - y.patience
              ELSE t.heartbeat < now() - 2 * y.timeout END
  WINDOW of_type AS (PARTITION BY t.task_type)
)
(SELECT 'task:' || t.task_id AS id, extract(epoch FROM t.wake_at)::float8 AS since,
        jsonb_build_object('waiting', t.waiting, 'due', date_trunc('second', t.first)::timestamp::text, 'timeout', t.timeout::text,
                           'type', t.type, 'served_by', CASE WHEN t.executor_polls THEN t.type ELSE coalesce(t.executor, t.type) END,
                           'look', CASE WHEN t.executor_polls THEN 'The ' || t.executor || ' polls other types: it does not serve this type, or all its slots are in use'
                                        WHEN t.executor IS NOT NULL THEN 'The ' || t.executor || ' polls no type: it is down, not connected, or connected and failing'
                                        ELSE 'No executor serves this type, or its executors are down, busy or failing' END) AS evidence
   FROM ready t
  WHERE CASE WHEN $1::text[] IS NULL THEN t.place = 1
             ELSE t.task_id = ANY (ARRAY(SELECT substr(i, 6)::macaddr8 FROM unnest($1::text[]) i WHERE i LIKE 'task:%')) END
  ORDER BY t.wake_at, t.task_id
  LIMIT $3::int)
UNION ALL
SELECT NULL, NULL, NULL WHERE $1::text[] IS NULL AND (SELECT count(*) FROM due) = 10000
