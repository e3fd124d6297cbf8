-- Sections of all actions whose files do not have them.
-- versions: for each id, the version that the operator saw or the guard of a finding
-- Indexes: task_pkey, job_pkey; one on task(job_id), one on task_timer(task_id).

-- :lock
-- kinds: task
SELECT 'task:' || t.task_id AS id, t.revision || ':' || t.status || ':' || t.xmin AS version,
\ir parts/same.sql
       AS unchanged
  FROM :"schema".task t
  LEFT JOIN unnest(:ids, :versions) AS seen(id, version) ON seen.id = 'task:' || t.task_id
 WHERE t.task_id = ANY (:task_keys)
 ORDER BY t.task_id
   FOR UPDATE OF t SKIP LOCKED

-- :lock
-- kinds: job
-- A job is locked when all its tasks are locked. If another transaction holds one of them, the job is reported as locked.
WITH held AS MATERIALIZED (
  SELECT t.task_id, t.job_id
\ir parts/tasks_of_jobs.sql
   ORDER BY t.task_id
     FOR UPDATE SKIP LOCKED
)
SELECT 'job:' || j.job_id AS id, j.xmin::text AS version
\ir parts/asked_jobs.sql
   AND (SELECT count(*) FROM held h WHERE h.job_id = j.job_id) = (SELECT count(*) FROM :"schema".task t WHERE t.job_id = j.job_id)
 ORDER BY j.job_id
