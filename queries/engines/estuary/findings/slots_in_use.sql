-- Types with tasks that wait for long, while everything that their executor polls was due before them: all its slots seem to be in
-- use. Reported once for each type, at its oldest waiting task.
-- $1 ids text[]: local ids to check, or NULL for all
-- $2 settings jsonb: heartbeat_timeout and dequeue_interval by type; names, executors; overdue and slots_in_use by type
-- $3 page int: maximum number of rows
-- Indexes: those of the included part.
WITH
\ir ../parts/types.sql
,
ready AS (
  SELECT w.task_id, w.wake_at, y.type, y.process, y.executor, y.waiting, y.first, y.slots, y.slots_since,
         row_number() OVER (PARTITION BY w.task_type ORDER BY w.wake_at, w.task_id) AS place
    FROM waiting w JOIN types y ON y.task_type = w.task_type
   CROSS JOIN LATERAL (SELECT CASE WHEN y.polls > 0 THEN 'overdue' ELSE 'slots_in_use' END AS name) AS l
   WHERE y.slots_used
     AND w.wake_at < now() - make_interval(secs => coalesce($2::jsonb -> w.task_type::text ->> l.name, $2::jsonb ->> l.name)::float8)
),
polled AS (
  SELECT y.process, string_agg(y.live || ' of ' || y.type, ', ' ORDER BY y.live DESC, y.type) AS tasks
    FROM types y WHERE y.live > 0 GROUP BY y.process
)
(SELECT 'task:' || t.task_id AS id, CASE WHEN isfinite(t.wake_at) THEN extract(epoch FROM t.wake_at)::float8 END AS since,
        jsonb_build_object('type', t.type, 'waiting', t.waiting, 'due', date_trunc('second', t.first)::timestamp::text,
                           'executor', t.process, 'process', coalesce('the ' || t.executor, 'its executor'), 'slots', t.slots, 'polled', p.tasks,
                           'slots_since', date_trunc('second', t.slots_since)::timestamp::text) AS evidence
   FROM ready t JOIN polled p ON p.process = t.process
  WHERE CASE WHEN $1::text[] IS NULL THEN t.place = 1
             ELSE t.task_id = ANY (ARRAY(SELECT substr(i, 6)::macaddr8 FROM unnest($1::text[]) i WHERE i LIKE 'task:%')) END
  ORDER BY t.wake_at, t.task_id
  LIMIT $3::int)
UNION ALL
SELECT NULL, NULL, NULL WHERE $1::text[] IS NULL AND (SELECT count(*) FROM due) = 10000
