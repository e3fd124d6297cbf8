-- The rows of tasks, steps, dead letters and messages, with the transaction or MultiXact that locked each row last.
-- Indexes: the primary keys, idx_workflow_steps_task_covering and those on the current transitions.
WITH \ir parts/node_rows.sql
, \ir parts/requested_messages.sql
SELECT r.id, r.relation, r.place, r.locker FROM node_rows r
UNION ALL
SELECT m.id, (m.m ->> 'relation')::oid, m.m ->> 'place', (m.m ->> 'locker')::xid FROM requested_messages m
