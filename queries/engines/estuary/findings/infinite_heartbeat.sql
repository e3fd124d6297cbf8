-- Tasks with a heartbeat of -infinity, written by a driver that cannot represent the year 1.
-- $1 ids text[]: local ids to check, or NULL for all
-- $2 page int: maximum number of rows
-- $3 met_needs text[]
-- Indexes: idx_tasks_ready_at, the first 5,000 rows; tasks_pkey; one on tasks(heartbeat), or a full scan of a small table.
WITH due AS MATERIALIZED (
  (SELECT task_id, wake_at, heartbeat FROM :"schema".tasks WHERE $1::text[] IS NULL AND wake_at <= now() ORDER BY wake_at LIMIT 5000)
  UNION
  (SELECT task_id, wake_at, heartbeat FROM :"schema".tasks
    WHERE $1::text[] IS NULL AND 'task_by_heartbeat' = ANY ($3::text[]) AND heartbeat <> '0001-01-01T00:00:00Z'::timestamptz AND heartbeat = '-infinity' LIMIT 5000)
  UNION
  (SELECT task_id, wake_at, heartbeat FROM :"schema".tasks WHERE task_id = ANY (ARRAY(SELECT substr(i, 6)::macaddr8 FROM unnest($1::text[]) i WHERE i LIKE 'task:%')))
)
(SELECT 'task:' || t.task_id AS id, CASE WHEN isfinite(t.wake_at) THEN extract(epoch FROM t.wake_at)::float8 END AS since,
        jsonb_build_object('wake_at', t.wake_at::text) AS evidence
   FROM due t
  WHERE t.heartbeat = '-infinity'
  ORDER BY t.wake_at, t.task_id
  LIMIT $2::int)
UNION ALL
SELECT NULL, NULL, NULL WHERE $1::text[] IS NULL AND NOT 'task_by_heartbeat' = ANY ($3::text[]) AND (SELECT count(*) FROM due) = 5000
