-- Sections of all actions whose files do not have them.
-- Indexes: tasks_pkey, workflow_steps_pkey, idx_workflow_steps_task_covering, idx_dlq_task, the unique indexes on
-- current transitions.

-- :lock
WITH \ir parts/locked.sql
SELECT l.id, l.version FROM locked l
