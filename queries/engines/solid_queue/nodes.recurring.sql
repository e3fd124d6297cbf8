-- Recurring tasks by key, each with its last run.
-- Indexes: the one on solid_queue_recurring_tasks(key), the one on solid_queue_recurring_executions(task_key, run_at).
SELECT 'recurring:' || t.key AS id, NULL::text AS parent_id, 'recurring' AS kind,
       t.key || ' - ' || t.schedule AS title, CASE WHEN t.static THEN 'static' ELSE 'dynamic' END AS status,
       extract(epoch FROM t.created_at)::float8 AS created_at,
       (SELECT extract(epoch FROM max(e.run_at))::float8 FROM :"schema".solid_queue_recurring_executions e WHERE e.task_key = t.key) AS changed_at,
       t.xmin::text AS version, extract(epoch FROM now())::float8 AS now
  FROM :"schema".solid_queue_recurring_tasks t
 WHERE t.key = ANY (:recurring_keys)
