-- Tasks that the poller should have taken long ago, while orchestrators pick up nothing: none is running, or they cannot work.
-- parts/unpolled_tasks.sql has those that the poller ignores.
\ir late_tasks.sql
, nodes AS (SELECT 'task:' || l.task_uuid AS id, l.* FROM late l WHERE NOT EXISTS (SELECT FROM picked)),
unread AS (SELECT NULL::text AS unread WHERE (SELECT count(*) FROM waiting) = 500)
