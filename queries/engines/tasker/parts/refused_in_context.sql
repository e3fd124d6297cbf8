-- End of the refusals that parts/task_refusals.sql begins, with the engine's view `k` of each task.
\ir asked_tasks.sql
      LEFT JOIN LATERAL :"schema".get_task_execution_context(t.task_uuid) k ON true) AS r
 WHERE r.why IS NOT NULL
