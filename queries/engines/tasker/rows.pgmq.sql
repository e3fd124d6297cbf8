-- The rows of tasks, steps, dead letters and messages, with the transaction or MultiXact that locked each row last.
-- Indexes: the primary keys, idx_workflow_steps_task_covering and those on the current transitions.
\ir parts/node_rows.sql
UNION ALL
SELECT m.id, m.relation, m.place, m.locker FROM (
\ir parts/messages_at.sql
) AS m
