-- Set Blocked tasks to Available and delete their timers in one transaction: a remaining timer would fire later, in
-- another state of the task. The revision stays the same, because Blocked tasks have no running poll (assumed).
-- Indexes: task_pkey, one on task_timer(task_id).

-- :refused
SELECT 'task:' || t.task_id AS id,
       CASE WHEN t.status <> 'Blocked' THEN 'the task is ' || t.status || ', not Blocked'
            ELSE 'the task has no timer: it waits for another task. Set untimed to wake it' END AS why
  FROM :"schema".task t WHERE t.task_id = ANY (:task_keys)
   AND (t.status <> 'Blocked'
        OR (NOT coalesce((:args ->> 'untimed')::bool, false)
            AND NOT EXISTS (SELECT FROM :"schema".task_timer m WHERE m.task_id = t.task_id)))

-- :change
-- needs: timer_by_task
WITH changed AS (
  UPDATE :"schema".task t SET status = 'Available'
    FROM unnest(:ids, :versions) AS seen(id, version)
   WHERE t.task_id = substr(seen.id, 6)::uuid
     AND t.status = 'Blocked'
     AND t.revision || ':' || t.status || ':' || t.xmin = seen.version
  RETURNING t.task_id
), gone AS (
  DELETE FROM :"schema".task_timer m USING changed c WHERE m.task_id = c.task_id
)
SELECT 'task:' || c.task_id AS id FROM changed c
