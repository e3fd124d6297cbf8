-- The rows of tasks, steps and dead letters, with the transaction or MultiXact that locked each row last.
-- Indexes: the primary keys, idx_workflow_steps_task_covering and those on the current transitions.
WITH \ir parts/node_rows.sql
SELECT r.id, r.relation, r.place, r.locker FROM node_rows r
