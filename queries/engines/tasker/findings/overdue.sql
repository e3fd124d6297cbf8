-- Find steps that wait far longer for a worker or an orchestrator than steps of their name usually do. Without the engine's
-- queues in this database, nothing tells why.
WITH wanted AS (SELECT unnest(ARRAY['enqueued', 'enqueued_for_orchestration', 'enqueued_as_error_for_orchestration']) AS to_state),
\ir ../parts/old_steps.sql
, unexplained AS MATERIALIZED (
  SELECT o.*, 'The engine''s messages are not in this database, so the cause is unknown' AS why FROM old o
),
\ir ../parts/overdue.sql
