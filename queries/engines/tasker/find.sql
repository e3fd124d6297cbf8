-- Find tasks, steps and dead letters by id or start of an id; tasks by correlation id or tag; templates by name.
-- $1 query text: hexadecimal digits with or without hyphens, a tag, or a substring of a name
-- $2 page int: maximum number of rows
-- Indexes: primary keys as ranges of uuid, idx_tasks_correlation_id, idx_tasks_tags_gin_path; named_tasks is small.
WITH q AS (
  SELECT CASE WHEN $1::text ~* '^[0-9a-f-]{1,36}$' AND length(replace($1::text, '-', '')) BETWEEN 1 AND 32
              THEN rpad(replace($1::text, '-', ''), 32, '0')::uuid END AS low,
         CASE WHEN $1::text ~* '^[0-9a-f-]{1,36}$' AND length(replace($1::text, '-', '')) BETWEEN 1 AND 32
              THEN rpad(replace($1::text, '-', ''), 32, 'f')::uuid END AS high
)
(SELECT 'task:' || t.task_uuid AS id FROM :"schema".tasks t
  WHERE t.task_uuid BETWEEN (SELECT low FROM q) AND (SELECT high FROM q) ORDER BY t.task_uuid LIMIT $2::int)
UNION ALL
(SELECT 'task:' || t.task_uuid FROM :"schema".tasks t
  WHERE t.correlation_id BETWEEN (SELECT low FROM q) AND (SELECT high FROM q) ORDER BY t.correlation_id, t.task_uuid LIMIT $2::int)
UNION ALL
(SELECT 'step:' || s.workflow_step_uuid FROM :"schema".workflow_steps s
  WHERE s.workflow_step_uuid BETWEEN (SELECT low FROM q) AND (SELECT high FROM q) ORDER BY s.workflow_step_uuid LIMIT $2::int)
UNION ALL
(SELECT 'dead_letter:' || d.dlq_entry_uuid FROM :"schema".tasks_dlq d
  WHERE d.dlq_entry_uuid BETWEEN (SELECT low FROM q) AND (SELECT high FROM q) ORDER BY d.dlq_entry_uuid LIMIT $2::int)
UNION ALL
(SELECT 'task:' || t.task_uuid FROM :"schema".tasks t WHERE t.tags @> jsonb_build_array($1::text) ORDER BY t.task_uuid DESC LIMIT $2::int)
UNION ALL
(SELECT 'template:' || n.named_task_uuid
   FROM (SELECT * FROM :"schema".named_tasks LIMIT 10000) AS n
  WHERE strpos(lower(n.name), lower($1::text)) > 0 ORDER BY n.name, n.version LIMIT $2::int)
LIMIT $2::int
