-- The rows that actions on tasks and jobs may change.
-- Indexes: task_pkey, job_pkey; one on task(job_id), one on task_timer(task_id).
SELECT 'task:' || t.task_id AS id, t.tableoid AS relation, t.ctid::text AS place
  FROM :"schema".task t WHERE t.task_id = ANY (:task_keys)
UNION ALL
SELECT 'task:' || m.task_id, m.tableoid, m.ctid::text
  FROM :"schema".task_timer m
 WHERE m.task_id = ANY (:task_keys)
UNION ALL
SELECT 'job:' || t.job_id, t.tableoid, t.ctid::text
  FROM :"schema".task t WHERE t.job_id = ANY (:job_keys)
UNION ALL
SELECT 'job:' || t.job_id, m.tableoid, m.ctid::text
  FROM :"schema".task_timer m JOIN :"schema".task t ON t.task_id = m.task_id
 WHERE t.job_id = ANY (:job_keys)
UNION ALL
SELECT 'job:' || j.job_id, j.tableoid, j.ctid::text
  FROM :"schema".job j WHERE j.job_id = ANY (:job_keys)
