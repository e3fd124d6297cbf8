-- title: Next inbox: messages received during a poll
-- kinds: task
-- $1 id text: local id
-- $2 settings jsonb: messages, by type; names
-- Index: tasks_pkey, for the task and for the senders.
WITH given AS (SELECT t.task_type, t.inbox_next AS inbox FROM :"schema".tasks t WHERE t.task_id = substr($1::text, 6)::macaddr8),
\ir ../parts/inbox.sql
