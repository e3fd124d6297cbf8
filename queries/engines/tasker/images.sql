-- The rows that actions on tasks, steps and dead letters may change.
-- Indexes: the primary keys, idx_workflow_steps_task_covering, idx_dlq_task, those on the current transitions.
WITH \ir parts/involved.sql
, \ir parts/own_steps.sql
, \ir parts/own_rows.sql
SELECT r.id, r.relation, r.place FROM own_rows r
