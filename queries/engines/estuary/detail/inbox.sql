-- title: Inbox: messages for the next poll
-- kinds: task
-- Index: tasks_pkey, for the task and for the senders.
WITH given AS (SELECT t.task_type, t.inbox FROM :"schema".tasks t WHERE t.task_id = substr(:id, 6)::macaddr8),
\ir ../parts/shown.sql
SELECT s.position::text, s.digest, s.sender, s."from", s.message, s."check" FROM shown s ORDER BY s.position
