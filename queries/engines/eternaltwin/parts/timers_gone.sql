-- The end of a change of tasks, in the CTE `changed`: their timers are deleted.
  RETURNING t.task_id
), gone AS (
  DELETE FROM :"schema".task_timer m USING changed c WHERE m.task_id = c.task_id
)
SELECT 'task:' || c.task_id AS id FROM changed c
