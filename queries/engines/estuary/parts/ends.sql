-- Due tasks: the 2,500 with the earliest and with the latest wake_at. Not read if ids are given.
-- Index: idx_tasks_ready_at from both ends.
ends AS MATERIALIZED (
  SELECT DISTINCT ON (u.task_id) u.*
    FROM ((SELECT task_id, task_type, wake_at, heartbeat, inbox FROM :"schema".tasks WHERE :ids IS NULL AND wake_at <= now() ORDER BY wake_at LIMIT 2500)
          UNION ALL
          (SELECT task_id, task_type, wake_at, heartbeat, inbox FROM :"schema".tasks WHERE :ids IS NULL AND wake_at <= now() ORDER BY wake_at DESC LIMIT 2500)) AS u
   ORDER BY u.task_id
)
