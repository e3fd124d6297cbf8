-- Set every unfinished task of a job to Complete without output and delete its timers. The operator decides about the
-- job and not about the state of its tasks, so a task that was polled in the meantime is also cancelled. The task is
-- locked and its revision is incremented, so the result of a running poll is discarded (assumed).
-- $1 ids text[]: local ids
-- $2 versions text[]: for each id, the version that the operator saw
-- Indexes: an index on task(job_id), one on task_timer(task_id).

-- :lock
-- A job is locked when all its tasks are locked. If another transaction holds one of them, the job is reported as locked.
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
SELECT 'job:' || j.job_id AS id, 'the job has no unfinished task' AS why
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
