-- Nodes that belong to these nodes, or that these belong to: the job of a task, the unfinished tasks of the same job,
-- the tasks of a job. A row without id: not all are known, and why.
-- Indexes: task_pkey; one on task(job_id).
WITH tasks AS MATERIALIZED (
  SELECT t.task_id, t.job_id FROM :"schema".task t
   WHERE t.task_id = ANY (:task_keys)
),
jobs AS MATERIALIZED (
  SELECT substr(i, 5)::uuid AS job_id FROM unnest(:ids) AS i WHERE i LIKE 'job:%'
)
(SELECT 'job:' || p.job_id AS id, 'parent' AS relation, '' AS note FROM (SELECT DISTINCT t.job_id FROM tasks t) AS p LIMIT :limit)
UNION ALL
(SELECT 'task:' || t.task_id, 'sibling', 'unfinished tasks of the same job'
   FROM :"schema".task t
  WHERE 'task_by_job' = ANY (:met_needs) AND t.job_id = ANY (ARRAY(SELECT s.job_id FROM tasks s)) AND t.status <> 'Complete'
    AND t.task_id <> ALL (ARRAY(SELECT s.task_id FROM tasks s))
  LIMIT :limit)
UNION ALL
(SELECT 'task:' || t.task_id, 'descendant', '' FROM :"schema".task t
  WHERE 'task_by_job' = ANY (:met_needs) AND t.job_id = ANY (ARRAY(SELECT j.job_id FROM jobs j))
  LIMIT :limit)
UNION ALL
SELECT NULL, 'waiter', 'only the engine can read which task of the job waits for which' WHERE EXISTS (SELECT FROM tasks)
UNION ALL
SELECT NULL, r, 'no index starts with task.job_id'
  FROM unnest(ARRAY['sibling', 'descendant']) AS r
 WHERE NOT 'task_by_job' = ANY (:met_needs) AND CASE r WHEN 'sibling' THEN EXISTS (SELECT FROM tasks) ELSE EXISTS (SELECT FROM jobs) END
