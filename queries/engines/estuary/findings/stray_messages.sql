-- Idle tasks with messages in inbox_next, usually the result of a manual release.
-- $1 ids text[]: local ids to check, or NULL for all
-- $2 settings jsonb: names
-- $3 page int: maximum number of rows
-- $4 met_needs text[]
-- Indexes: idx_tasks_ready_at, the first 5,000 rows; tasks_pkey; a full scan of a small table.
WITH due AS MATERIALIZED (
  (SELECT task_id, task_type, wake_at, heartbeat, inbox_next FROM :"schema".tasks WHERE $1::text[] IS NULL AND wake_at <= now() ORDER BY wake_at LIMIT 5000)
  UNION ALL
  (SELECT task_id, task_type, wake_at, heartbeat, inbox_next FROM :"schema".tasks WHERE $1::text[] IS NULL AND 'task_scan' = ANY ($4::text[]) AND (wake_at > now() OR wake_at IS NULL))
  UNION ALL
  (SELECT task_id, task_type, wake_at, heartbeat, inbox_next FROM :"schema".tasks WHERE task_id = ANY (ARRAY(SELECT substr(i, 6)::macaddr8 FROM unnest($1::text[]) i WHERE i LIKE 'task:%')))
)
(SELECT 'task:' || t.task_id AS id, extract(epoch FROM t.wake_at)::float8 AS since,
        jsonb_build_object('messages', CASE cardinality(t.inbox_next) WHEN 1 THEN '1 message' ELSE cardinality(t.inbox_next) || ' messages' END,
                           'wake_at', t.wake_at::text, 'type', coalesce($2::jsonb -> 'names' ->> t.task_type::text, 'type ' || t.task_type)) AS evidence
   FROM due t
  WHERE t.heartbeat = '0001-01-01T00:00:00Z'::timestamptz
    AND cardinality(t.inbox_next) > 0
  ORDER BY t.wake_at, t.task_id
  LIMIT $3::int)
UNION ALL
SELECT NULL, NULL, NULL WHERE $1::text[] IS NULL AND (SELECT count(*) FROM due) = 5000
