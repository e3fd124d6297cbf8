-- The tasks' rows for the audit log. Columns whose JSON form would differ from the stored text are copied as text.
SELECT 'task:' || t.task_id AS id, 'tasks' AS "table", t.task_id::text AS key,
       row_to_json((SELECT r FROM (
         SELECT t.task_id::text, t.task_type, t.parent_id::text, t.inner_state::text, t.wake_at::text, t.heartbeat::text,
                t.inbox::text[], t.inbox_next::text[]) AS r)) AS row
  FROM :"schema".tasks t
 WHERE t.task_id = ANY (ARRAY(SELECT substr(i, 6)::macaddr8 FROM unnest($1::text[]) AS i))
