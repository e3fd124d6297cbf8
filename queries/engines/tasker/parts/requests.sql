-- events: requests of tasks by template, among the newest 2,000 tasks, if most of the template's tasks have run.
-- Index: tasks_pkey backwards.
recent AS MATERIALIZED (
  SELECT t.named_task_uuid, t.created_at, t.complete FROM :"schema".tasks t ORDER BY t.task_uuid DESC LIMIT 2000
),
events AS MATERIALIZED (
  SELECT r.named_task_uuid AS key, 'template:' || r.named_task_uuid AS id, r.created_at AS at
    FROM recent r
   WHERE isfinite(r.created_at)
     AND r.named_task_uuid IN (SELECT c.named_task_uuid FROM recent c WHERE isfinite(c.created_at) GROUP BY c.named_task_uuid
                               HAVING count(*) FILTER (WHERE c.complete) * 2 > count(*))
),
more AS (SELECT (SELECT count(*) FROM recent) = 2000 AS more)
