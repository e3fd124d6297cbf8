-- Tasks of a type that reports to a parent, whose parent does not exist. Other types do not need their parent.
-- $1 ids text[]: local ids to check, or NULL for all
-- $2 settings jsonb: yields, the types
-- $3 page int: maximum number of rows
-- $4 met_needs text[]
-- Indexes: idx_tasks_ready_at, the first 5,000 rows; tasks_pkey, once for all parents; a full scan of a small table.
WITH due AS MATERIALIZED (
  (SELECT task_id, task_type, wake_at, parent_id FROM :"schema".tasks WHERE $1::text[] IS NULL AND wake_at <= now() ORDER BY wake_at LIMIT 5000)
  UNION ALL
  (SELECT task_id, task_type, wake_at, parent_id FROM :"schema".tasks WHERE $1::text[] IS NULL AND 'task_scan' = ANY ($4::text[]) AND (wake_at > now() OR wake_at IS NULL))
  UNION ALL
  (SELECT task_id, task_type, wake_at, parent_id FROM :"schema".tasks WHERE task_id = ANY (ARRAY(SELECT substr(i, 6)::macaddr8 FROM unnest($1::text[]) i WHERE i LIKE 'task:%')))
),
reporting AS MATERIALIZED (
  SELECT d.task_id, d.parent_id FROM due d
   WHERE d.task_type::text = ANY (string_to_array($2::jsonb ->> 'yields', ' '))
     AND d.parent_id IS NOT NULL
     AND d.parent_id <> '00:00:00:00:00:00:00:00'::macaddr8
),
parents AS MATERIALIZED (
  SELECT p.task_id FROM :"schema".tasks p WHERE p.task_id = ANY (ARRAY(SELECT DISTINCT r.parent_id::macaddr8 FROM reporting r))
)
(SELECT 'task:' || t.task_id AS id, NULL::float8 AS since, jsonb_build_object('parent', t.parent_id::text) AS evidence
   FROM reporting t
  WHERE NOT EXISTS (SELECT FROM parents p WHERE p.task_id = t.parent_id)
  ORDER BY t.task_id
  LIMIT $3::int)
UNION ALL
SELECT NULL, NULL, NULL WHERE $1::text[] IS NULL AND NOT 'task_scan' = ANY ($4::text[]) AND (SELECT count(*) FROM due) = 5000
