-- Find tasks, steps and dead letters by id or by the beginning of an id; tasks by correlation id or tag.
-- query: hexadecimal digits with or without hyphens, or a tag
-- Indexes: primary keys as ranges of uuid, idx_tasks_correlation_id, idx_tasks_tags_gin_path.
-- plan: custom
WITH q AS (
  SELECT CASE WHEN :query ~* '^[0-9a-f-]{1,36}$' AND length(replace(:query, '-', '')) BETWEEN 1 AND 32
              THEN rpad(replace(:query, '-', ''), 32, '0')::uuid END AS low,
         CASE WHEN :query ~* '^[0-9a-f-]{1,36}$' AND length(replace(:query, '-', '')) BETWEEN 1 AND 32
              THEN rpad(replace(:query, '-', ''), 32, 'f')::uuid END AS high
)
SELECT f.id, CASE WHEN f.tagged OR (SELECT low = high FROM q) THEN f.matched ELSE 'beginning' END AS matched
  FROM ((SELECT 'task:' || t.task_uuid AS id, 'id' AS matched, false AS tagged FROM :"schema".tasks t
          WHERE t.task_uuid BETWEEN (SELECT low FROM q) AND (SELECT high FROM q) ORDER BY t.task_uuid LIMIT :limit)
        UNION ALL
        (SELECT 'step:' || s.workflow_step_uuid, 'id', false FROM :"schema".workflow_steps s
          WHERE s.workflow_step_uuid BETWEEN (SELECT low FROM q) AND (SELECT high FROM q) ORDER BY s.workflow_step_uuid LIMIT :limit)
        UNION ALL
        (SELECT 'dead_letter:' || d.dlq_entry_uuid, 'id', false FROM :"schema".tasks_dlq d
          WHERE d.dlq_entry_uuid BETWEEN (SELECT low FROM q) AND (SELECT high FROM q) ORDER BY d.dlq_entry_uuid LIMIT :limit)
        UNION ALL
        (SELECT 'task:' || t.task_uuid, 'reference', false FROM :"schema".tasks t
          WHERE t.correlation_id BETWEEN (SELECT low FROM q) AND (SELECT high FROM q) ORDER BY t.correlation_id, t.task_uuid LIMIT :limit)
        UNION ALL
        (SELECT 'task:' || t.task_uuid, 'reference', true FROM :"schema".tasks t WHERE t.tags @> jsonb_build_array(:query) ORDER BY t.task_uuid DESC LIMIT :limit)) AS f
 LIMIT :limit
