-- Types with waiting tasks, none of which is being polled. Reported once for each type, at its oldest waiting task. served_by
-- is the executor process, or "all" if no executor polls anything.
-- $1 ids text[]: local ids to check, or NULL for all
-- $2 settings jsonb: heartbeat_timeout and dequeue_interval by type; names, executors
-- $3 page int: maximum number of rows
-- Indexes: those of the included part.
WITH
\ir ../parts/types.sql
,
ready AS (
  SELECT w.task_id, w.wake_at, y.type, y.timeout, y.executor, y.process, y.executor_polls, y.any_polls, y.waiting,
         min(w.wake_at) OVER of_type AS first, row_number() OVER (of_type ORDER BY w.wake_at, w.task_id) AS place
    FROM waiting w JOIN types y ON y.task_type = w.task_type
   WHERE NOT y.polled AND NOT y.slots_used
  WINDOW of_type AS (PARTITION BY w.task_type)
),
-- The processes without a poll, if they are all that have tasks.
down AS (
  SELECT string_agg(p.name, ' and ' ORDER BY p.name) AS names
    FROM (SELECT DISTINCT coalesce('the ' || r.executor, 'the executor of ' || r.type) AS name FROM ready r WHERE NOT r.any_polls) AS p
  HAVING count(*) > 1
)
(SELECT 'task:' || t.task_id AS id, extract(epoch FROM t.wake_at)::float8 AS since,
        jsonb_build_object('waiting', t.waiting, 'due', date_trunc('second', t.first)::timestamp::text, 'timeout', t.timeout::text,
                           'type', t.type, 'served_by', CASE WHEN n.names IS NULL THEN t.process ELSE 'all' END,
                           'look', CASE WHEN n.names IS NOT NULL THEN 'No executor polls any task: ' || n.names || ' are down, not connected, or connected and failing'
                                        WHEN t.executor IS NULL THEN 'No executor serves this type, or its executors are down, busy or failing'
                                        WHEN t.executor_polls THEN 'The ' || t.executor || ' polls other types: it does not serve this type, or all its slots are in use'
                                        ELSE 'The ' || t.executor || ' polls no type: it is down, not connected, or connected and failing' END) AS evidence
   FROM ready t LEFT JOIN down n ON true
  WHERE CASE WHEN $1::text[] IS NULL THEN t.place = 1
             ELSE t.task_id = ANY (ARRAY(SELECT substr(i, 6)::macaddr8 FROM unnest($1::text[]) i WHERE i LIKE 'task:%')) END
  ORDER BY t.wake_at, t.task_id
  LIMIT $3::int)
UNION ALL
SELECT NULL, NULL, NULL WHERE $1::text[] IS NULL AND (SELECT count(*) FROM due) = 10000
