-- The tasks' rows for the audit log. Columns whose JSON form would differ from the stored text are copied as text.
SELECT 'task:' || t.task_id AS id, 'tasks' AS "table", t.task_id::text AS key, t.ctid::text AS place,
       row_to_json((SELECT r FROM (
         SELECT t.task_id::text, t.task_type, t.parent_id::text, t.inner_state::text, t.wake_at::text, t.heartbeat::text,
                t.inbox::text[], t.inbox_next::text[]) AS r)) AS row
\ir asked.sql
