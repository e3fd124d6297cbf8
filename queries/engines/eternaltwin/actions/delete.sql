-- Delete a job with its tasks and their timers (by cascade). The lock on the job's row prevents new tasks.
-- Indexes: job_pkey, one on task(job_id), one on task_timer(task_id). Without them the cascade scans both tables.

-- :lock
-- A job is locked when its row and all its tasks are locked.
WITH jobs AS MATERIALIZED (
  SELECT j.job_id, j.xmin::text AS version
\ir ../parts/asked_jobs.sql
   ORDER BY j.job_id
     FOR UPDATE SKIP LOCKED
), held AS MATERIALIZED (
  SELECT t.task_id, t.job_id
    FROM :"schema".task t
   WHERE t.job_id = ANY (ARRAY(SELECT job_id FROM jobs))
   ORDER BY t.task_id
     FOR UPDATE SKIP LOCKED
)
SELECT 'job:' || j.job_id AS id, j.version
  FROM jobs j
 WHERE (SELECT count(*) FROM held h WHERE h.job_id = j.job_id) = (SELECT count(*) FROM :"schema".task t WHERE t.job_id = j.job_id)
 ORDER BY j.job_id

-- :rows
SELECT 'job:' || j.job_id AS id, 'job' AS "table", j.job_id::text AS key, j.ctid::text AS place,
       to_jsonb(j) - 'initial_state' || jsonb_build_object('initial_state',
         CASE WHEN octet_length(j.initial_state) <= 65536 THEN encode(j.initial_state, 'base64')
              ELSE octet_length(j.initial_state) || ' bytes, md5 ' || md5(j.initial_state) END) AS row
\ir ../parts/asked_jobs.sql
UNION ALL
SELECT 'job:' || t.job_id, 'task', t.task_id::text, t.ctid::text,
       to_jsonb(t) - 'state' - 'output' || jsonb_build_object(
         'state', CASE WHEN octet_length(t.state) <= 65536 THEN encode(t.state, 'base64')
                       ELSE octet_length(t.state) || ' bytes, md5 ' || md5(t.state) END,
         'output', CASE WHEN octet_length(t.output) <= 65536 THEN encode(t.output, 'base64')
                        ELSE octet_length(t.output) || ' bytes, md5 ' || md5(t.output) END)
\ir ../parts/tasks_of_jobs.sql
UNION ALL
SELECT 'job:' || t.job_id, 'task_timer', m.deadline || ' ' || m.task_id, m.ctid::text, to_jsonb(m)
  FROM :"schema".task_timer m JOIN :"schema".task t ON t.task_id = m.task_id
 WHERE t.job_id = ANY (:job_keys)

-- :change
DELETE FROM :"schema".job j
 USING unnest(:ids, :versions) AS seen(id, version)
 WHERE j.job_id = substr(seen.id, 5)::uuid
   AND j.xmin::text = seen.version
RETURNING 'job:' || j.job_id AS id
