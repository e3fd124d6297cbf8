-- Set unfinished tasks to Complete without output and delete their timers. The revision is incremented, so the
-- compare-and-set of a running poll fails and its result is discarded (assumed).
-- versions: for each id, the version that the operator saw or the guard of a finding
-- Indexes: task_pkey; timers by an index on task_timer(task_id).

-- :refused
SELECT 'task:' || t.task_id AS id, 'the task is already Complete' AS why
  FROM :"schema".task t WHERE t.task_id = ANY (:task_keys)
   AND t.status = 'Complete'

-- :change
-- needs: timer_by_task
WITH changed AS (
  UPDATE :"schema".task t SET status = 'Complete', revision = t.revision + 1
    FROM unnest(:ids, :versions) AS seen(id, version)
   WHERE t.task_id = substr(seen.id, 6)::uuid
     AND t.status <> 'Complete'
     AND t.revision || ':' || t.status || ':' || t.xmin = seen.version
  RETURNING t.task_id
), gone AS (
  DELETE FROM :"schema".task_timer m USING changed c WHERE m.task_id = c.task_id
)
SELECT 'task:' || c.task_id AS id FROM changed c
