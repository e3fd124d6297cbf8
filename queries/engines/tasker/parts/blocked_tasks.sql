-- Tasks that are blocked by failures, as `open_tasks`, and those of them on which an operator has decided.
wanted AS (SELECT unnest(ARRAY['blocked_by_failures']) AS to_state),
\ir open_tasks.sql
,
given_up AS (SELECT o.task_uuid, o.at AS created_at, false AS by_hand FROM open_tasks o), -- by hand ends in error
\ir decided_tasks.sql
