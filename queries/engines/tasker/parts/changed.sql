-- The requested ids that this transaction changed, with their tasks: their rows have its time.
changed AS MATERIALIZED (
  WITH \ir involved.sql
  SELECT i.id, i.task_uuid
    FROM involved i
   WHERE CASE i.kind
           WHEN 'step' THEN EXISTS (SELECT FROM :"schema".workflow_steps s
                                     WHERE s.workflow_step_uuid = CASE WHEN i.kind = 'step' THEN substr(i.id, 6)::uuid END AND s.updated_at = localtimestamp)
           WHEN 'dead_letter' THEN EXISTS (SELECT FROM :"schema".tasks_dlq d
                                       WHERE d.dlq_entry_uuid = CASE WHEN i.kind = 'dead_letter' THEN substr(i.id, 13)::uuid END AND d.updated_at = localtimestamp)
           ELSE EXISTS (SELECT FROM :"schema".tasks t WHERE t.task_uuid = i.task_uuid AND t.updated_at = localtimestamp)
                OR EXISTS (SELECT FROM :"schema".task_transitions x WHERE x.task_uuid = i.task_uuid AND x.most_recent AND x.created_at = localtimestamp)
                OR EXISTS (SELECT FROM :"schema".workflow_steps s WHERE s.task_uuid = i.task_uuid AND s.updated_at = localtimestamp) END
)
