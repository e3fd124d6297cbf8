-- Waiting tasks with what is known of their types. An executor takes the task that is due longest first, so tasks are
-- skipped if one that became due later is being polled. first_of_type, first_idle: the oldest waiting task of its type,
-- or asked for. due: due tasks, the first 5,000 and the last 5,000 before now(); tasks being polled are due, too.
-- types: their types. A type is polled if a task of it has a heartbeat younger than 75 % of the timeout; heartbeats
-- ahead of the server's clock are no polls. Polls may be too short to be seen: taken is true if far more of its tasks
-- become due soon than still wait of an equal time before now; served are such types of which no task waits. waiting:
-- idle tasks that are due for three dequeue intervals, and tasks whose last heartbeat is older than twice the timeout.
-- slots_used: an executor takes the task that is due longest first, so its slots are in use if everything that it polls
-- was due before the first waiting task. A live poll renews its heartbeat after half the timeout; a task whose poll has
-- failed keeps its heartbeat without a slot, so an older heartbeat makes the number of polls unknown.
-- Index: idx_tasks_ready_at; if a type is waiting and not polled, the next 1,000 tasks of the next 10 minutes, too.
due AS MATERIALIZED (
  (SELECT task_id, task_type, wake_at, heartbeat FROM :"schema".tasks WHERE wake_at <= now() ORDER BY wake_at LIMIT 5000)
  UNION
  (SELECT task_id, task_type, wake_at, heartbeat FROM :"schema".tasks WHERE wake_at <= now() ORDER BY wake_at DESC LIMIT 5000)
),
sorts AS MATERIALIZED (
  SELECT y.*, :settings -> 'executors' ->> y.task_type::text AS executor,
         coalesce(:settings -> 'names' ->> y.task_type::text, 'type ' || y.task_type) AS type
    FROM (SELECT l.task_type, l.timeout, l.patience,
                 count(*) FILTER (WHERE t.heartbeat BETWEEN now() - 0.75 * l.timeout AND now() + interval '1 minute') AS polls,
                 max(t.wake_at) FILTER (WHERE t.heartbeat BETWEEN now() - 0.75 * l.timeout AND now() + interval '1 minute') AS latest,
                 min(t.wake_at) FILTER (WHERE t.heartbeat BETWEEN now() - 0.55 * l.timeout AND now() + interval '1 minute') AS earliest,
                 count(*) FILTER (WHERE t.heartbeat BETWEEN now() - 0.55 * l.timeout AND now() + interval '1 minute') AS live,
                 count(*) FILTER (WHERE t.heartbeat BETWEEN now() - l.timeout AND now() - 0.55 * l.timeout) AS lapsed
            FROM due t
            JOIN (SELECT t.task_type, :heartbeat_timeout_of_kind AS timeout, 3 * :dequeue_interval_of_kind AS patience
                    FROM (SELECT DISTINCT task_type FROM due) AS t OFFSET 0) AS l ON l.task_type = t.task_type
           GROUP BY l.task_type, l.timeout, l.patience) AS y
),
waiting AS MATERIALIZED (
  SELECT d.task_id, d.task_type, d.wake_at, d.heartbeat, y.polls, now() - greatest(min(d.wake_at) OVER (PARTITION BY d.task_type), now() - interval '10 minutes') AS span
    FROM due d JOIN sorts y ON y.task_type = d.task_type
   WHERE CASE WHEN d.heartbeat <= '0001-01-01T00:00:00Z'::timestamptz THEN d.wake_at < now() - y.patience
              ELSE d.heartbeat < now() - 2 * y.timeout END
),
soon AS MATERIALIZED (
  SELECT task_type, wake_at FROM :"schema".tasks
   WHERE EXISTS (SELECT FROM waiting WHERE polls = 0) AND wake_at > now() AND wake_at <= now() + interval '10 minutes'
   ORDER BY wake_at LIMIT 1000
),
expected AS (
  SELECT w.task_type, w.tasks, w.first, w.recent, count(s.wake_at) AS upcoming,
         count(s.wake_at) >= 20 AND max(s.wake_at) - min(s.wake_at) >= 0.5 * w.span AND 4 * w.recent < count(s.wake_at) AS taken
    FROM (SELECT a.task_type, a.span, count(*) AS tasks, min(a.wake_at) AS first, count(*) FILTER (WHERE a.wake_at > now() - a.span) AS recent
            FROM waiting a GROUP BY a.task_type, a.span) AS w
    LEFT JOIN soon s ON s.task_type = w.task_type AND s.wake_at <= now() + w.span
   GROUP BY w.task_type, w.span, w.tasks, w.first, w.recent
),
served AS MATERIALIZED (
  SELECT coalesce(:settings -> 'executors' ->> s.task_type::text, :settings -> 'names' ->> s.task_type::text, 'type ' || s.task_type) AS executor
    FROM soon s
   CROSS JOIN (SELECT max(w.span) AS span FROM waiting w WHERE w.polls = 0) AS l
   WHERE s.wake_at <= now() + l.span AND NOT EXISTS (SELECT FROM waiting w WHERE w.task_type = s.task_type)
   GROUP BY s.task_type, l.span
  HAVING count(*) >= 20 AND max(s.wake_at) - min(s.wake_at) >= 0.5 * l.span
),
types AS MATERIALIZED (
  SELECT e.*, e.polls > 0 OR e.taken AS polled,
         bool_or(e.polls > 0 OR e.taken) OVER one OR e.serves AS executor_polls,
         bool_or(e.polls > 0 OR e.taken) OVER () OR EXISTS (SELECT FROM served) AS any_polls,
         sum(e.live) OVER one AS slots, min(e.earliest) OVER one AS slots_since,
         NOT bool_or(e.taken) OVER one AND NOT e.serves AND sum(e.live) OVER one > 0 AND sum(e.lapsed) OVER one = 0
           AND max(e.latest) OVER one <= e.first + e.patience AS slots_used
    FROM (SELECT y.*, x.tasks AS waiting, x.first, x.recent, x.upcoming, polls = 0 AND coalesce(taken, false) AS taken,
                 coalesce(y.executor, y.type) AS process, coalesce(y.executor, y.type) IN (SELECT v.executor FROM served v) AS serves
            FROM sorts y LEFT JOIN expected x ON x.task_type = y.task_type) AS e
  WINDOW one AS (PARTITION BY e.process)
),
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
              WHEN l.executor IS NULL THEN 'No executor is seen that serves this type'
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
