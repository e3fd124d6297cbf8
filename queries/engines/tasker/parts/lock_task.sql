-- :lock
-- Indexes: tasks_pkey, idx_task_transitions_task, the unique index on current task transitions, idx_dlq_task.
WITH
\ir locked_tasks.sql
SELECT 'task:' || l.task_uuid AS id, l.version FROM locked_tasks l
