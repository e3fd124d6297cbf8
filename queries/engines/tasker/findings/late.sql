-- Find steps that wait far longer for a worker or an orchestrator than steps of their name usually do. Without the
-- engine's queues in this database, nothing tells why.
WITH silent AS (SELECT NULL AS queue_name, 'The engine''s messages are not in this database, so the cause is unknown' AS why),
\ir ../parts/overdue.sql
SELECT o.* FROM overdue o
