-- End of the refusals that parts/task_refusals.sql begins.
\ir asked_tasks.sql
      ) AS r
 WHERE r.why IS NOT NULL
