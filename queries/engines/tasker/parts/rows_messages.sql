\ir rows.sql

-- :rows
-- needs: pgmq
-- Messages of the requested step, or of all the task's steps that are open or changed in this transaction.
WITH
\ir involved.sql
, own_steps AS MATERIALIZED (
  SELECT DISTINCT ON (s.workflow_step_uuid) i.id, s.workflow_step_uuid, 'worker_' || p.name || '_queue' AS queue
    FROM involved i
    JOIN :"schema".workflow_steps s ON s.task_uuid = i.task_uuid
    JOIN :"schema".tasks t ON t.task_uuid = i.task_uuid
\ir namespace_of_task.sql
   WHERE CASE WHEN i.kind = 'step' THEN s.workflow_step_uuid = substr(i.id, 6)::uuid
              ELSE s.processed = false OR s.updated_at = localtimestamp END
   ORDER BY s.workflow_step_uuid, i.kind = 'step' DESC, i.id
),
\ir messages_of_steps.sql
SELECT o.id, 'pgmq.' || lower('q_' || m.queue_name) AS "table", m.m ->> 'id' AS key, NULL AS place, m.m - 'due' - 'at' - 'read' AS row
  FROM own_steps o JOIN messages m ON m.m ->> 'step' = o.workflow_step_uuid::text
