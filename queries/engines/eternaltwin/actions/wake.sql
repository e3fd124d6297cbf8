-- Set Blocked tasks to Available and delete their timers in one transaction: a remaining timer would fire later, in
-- another state of the task. The revision stays the same, because Blocked tasks have no running poll (assumed).
-- $1 ids text[]: local ids
-- $2 versions text[]: for each id, the version that the operator saw
-- $3 args jsonb: untimed: also wake tasks without a timer
-- Indexes: task_pkey, one on task_timer(task_id).

-- :lock
SELECT 'task:' || t.task_id AS id, t.revision || ':' || t.status || ':' || t.xmin AS version
  FROM :"schema".task t
 WHERE t.task_id = ANY (ARRAY(SELECT substr(i, 6)::uuid FROM unnest($1::text[]) AS i))
 ORDER BY t.task_id
   FOR UPDATE SKIP LOCKED

-- :refused
SELECT 'task:' || t.task_id AS id,
       CASE WHEN t.status <> 'Blocked' THEN 'the task is ' || t.status || ', not Blocked'
            ELSE 'the task has no timer: it waits for another task. Set untimed to wake it' END AS why
  FROM :"schema".task t
 WHERE t.task_id = ANY (ARRAY(SELECT substr(i, 6)::uuid FROM unnest($1::text[]) AS i))
   AND (t.status <> 'Blocked'
        OR (NOT coalesce(($3::jsonb ->> 'untimed')::bool, false)
            AND NOT EXISTS (SELECT FROM :"schema".task_timer m WHERE m.task_id = t.task_id)))

-- :rows
SELECT 'task:' || t.task_id AS id, 'task' AS "table", t.task_id::text AS key,
\ir ../parts/task_row.sql
  FROM :"schema".task t
 WHERE t.task_id = ANY (ARRAY(SELECT substr(i, 6)::uuid FROM unnest($1::text[]) AS i))
UNION ALL
SELECT 'task:' || m.task_id, 'task_timer', m.deadline || ' ' || m.task_id, row_to_json(m)
  FROM :"schema".task_timer m
 WHERE m.task_id = ANY (ARRAY(SELECT substr(i, 6)::uuid FROM unnest($1::text[]) AS i))

-- :change
WITH woken AS (
  UPDATE :"schema".task t SET status = 'Available'
    FROM unnest($1::text[], $2::text[]) AS seen(id, version)
   WHERE t.task_id = substr(seen.id, 6)::uuid
     AND t.status = 'Blocked'
     AND t.revision || ':' || t.status || ':' || t.xmin = seen.version
  RETURNING t.task_id
), gone AS (
  DELETE FROM :"schema".task_timer m USING woken w WHERE m.task_id = w.task_id
)
SELECT 'task:' || w.task_id AS id FROM woken w
