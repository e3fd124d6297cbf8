-- Tasks that are blocked by failures, as `open_tasks`, and those of them on which an operator has decided.
wanted AS (SELECT unnest(ARRAY['blocked_by_failures']) AS to_state),
\ir open_tasks.sql
,
resting AS (SELECT o.task_uuid FROM open_tasks o),
\ir decided_tasks.sql
