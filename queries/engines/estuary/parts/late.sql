-- Waiting tasks with what is known of their types. An executor takes the task that is due longest first, so tasks are
-- skipped if one that became due later is being polled. first_of_type, first_idle: the oldest waiting task of its type, or asked for.
\ir types.sql
,
-- The processes without a poll, if they are all that have tasks.
down AS (
  SELECT string_agg(DISTINCT coalesce('the ' || y.executor, 'the executor of ' || y.type), ' and ') AS names
    FROM types y WHERE y.waiting > 0 AND NOT y.polled AND NOT y.slots_used AND NOT y.any_polls
  HAVING count(DISTINCT coalesce('the ' || y.executor, 'the executor of ' || y.type)) > 1
),
more AS (SELECT count(*) = 10000 AS more FROM due),
nodes AS (
  SELECT l.*, CASE WHEN l.names IS NULL THEN l.process ELSE 'all' END AS served_by,
         CASE WHEN l.names IS NOT NULL THEN 'No task is being polled: ' || l.names || ' take none'
              WHEN l.executor IS NULL THEN 'No executor serves this type, or its executors are down, busy or failing'
              WHEN l.executor_polls THEN 'The ' || l.executor || ' polls other types: it does not serve this type, or all its slots are in use'
              ELSE 'The ' || l.executor || ' polls no type at this moment' END AS not_served,
         CASE WHEN l.taken THEN 'No cause is known. Tasks of this type seem to be taken: ' || l.upcoming || ' become due soon, but only ' || (l.waits #>> '{}') || ' wait'
              WHEN l.skipped THEN 'Tasks that became due later are polled: the executor passes this one over, or takes the newest tasks first'
              ELSE 'Tasks of this type that wait: ' || (l.waits #>> '{}') || '; polled: ' || l.polls || '. All slots of the executors are in use, or they are too slow' END AS not_taken
    FROM (SELECT 'task:' || w.task_id AS id, w.wake_at, y.*, CASE WHEN (SELECT m.more FROM more m) THEN to_jsonb(y.waiting || '+') ELSE to_jsonb(y.waiting) END AS waits, (SELECT d.names FROM down d) AS names, w.heartbeat <= '0001-01-01T00:00:00Z'::timestamptz AS idle,
                 coalesce(w.wake_at < y.latest - y.patience, false) OR y.taken AS skipped,
                 :ids IS NOT NULL OR row_number() OVER (PARTITION BY w.task_type ORDER BY w.wake_at, w.task_id) = 1 AS first_of_type,
                 :ids IS NOT NULL OR row_number() OVER (PARTITION BY w.task_type, w.heartbeat <= '0001-01-01T00:00:00Z'::timestamptz ORDER BY w.wake_at, w.task_id) = 1 AS first_idle
            FROM waiting w JOIN types y ON y.task_type = w.task_type) AS l
)
