-- Every unfinished task of a job becomes Complete without output, its timers go. What the operator decides on is the
-- job, not the step its tasks are at, so a task that was polled meanwhile is cancelled all the same; its lock is ours
-- and its revision goes up, so a poll in flight is discarded (assumed).
-- $1 ids text[]: local ids
-- $2 versions text[]: what the operator saw of each
-- Indexes: an index on task(job_id), one on task_timer(task_id).

-- :lock
-- A job counts as locked when every one of its tasks is; a task that somebody holds makes the job busy.
WITH held AS MATERIALIZED (
  SELECT t.task_id, t.job_id
    FROM :"schema".task t
   WHERE t.job_id = ANY (ARRAY(SELECT substr(i, 5)::uuid FROM unnest($1::text[]) AS i))
   ORDER BY t.task_id
     FOR UPDATE SKIP LOCKED
)
SELECT 'job:' || j.job_id AS id, j.xmin::text AS version
  FROM :"schema".job j
 WHERE j.job_id = ANY (ARRAY(SELECT substr(i, 5)::uuid FROM unnest($1::text[]) AS i))
   AND (SELECT count(*) FROM held h WHERE h.job_id = j.job_id) = (SELECT count(*) FROM :"schema".task t WHERE t.job_id = j.job_id)
 ORDER BY j.job_id

-- :refused
SELECT 'job:' || j.job_id AS id, 'it has no unfinished task' AS why
  FROM :"schema".job j
 WHERE j.job_id = ANY (ARRAY(SELECT substr(i, 5)::uuid FROM unnest($1::text[]) AS i))
   AND NOT EXISTS (SELECT FROM :"schema".task t WHERE t.job_id = j.job_id AND t.status <> 'Complete')

-- :rows
SELECT 'job:' || t.job_id AS id, 'task' AS "table", t.task_id::text AS key,
\ir ../parts/task_row.sql
  FROM :"schema".task t
 WHERE t.job_id = ANY (ARRAY(SELECT substr(i, 5)::uuid FROM unnest($1::text[]) AS i))
UNION ALL
SELECT 'job:' || t.job_id, 'task_timer', m.deadline || ' ' || m.task_id, row_to_json(m)
  FROM :"schema".task_timer m JOIN :"schema".task t ON t.task_id = m.task_id
 WHERE t.job_id = ANY (ARRAY(SELECT substr(i, 5)::uuid FROM unnest($1::text[]) AS i))

-- :change
WITH cancelled AS (
  UPDATE :"schema".task t SET status = 'Complete', revision = t.revision + 1
    FROM unnest($1::text[], $2::text[]) AS seen(id, version), :"schema".job j
   WHERE j.job_id = substr(seen.id, 5)::uuid
     AND j.xmin::text = seen.version
     AND t.job_id = j.job_id
     AND t.status <> 'Complete'
  RETURNING t.task_id, t.job_id
), gone AS (
  DELETE FROM :"schema".task_timer m USING cancelled c WHERE m.task_id = c.task_id
)
SELECT DISTINCT 'job:' || c.job_id AS id FROM cancelled c
