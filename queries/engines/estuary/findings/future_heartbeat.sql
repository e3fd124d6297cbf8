-- Tasks with a heartbeat more than a minute ahead of the server's clock: a clock was set back, or the row was edited.
-- $1 ids text[]: local ids to check, or NULL for all
-- $2 settings jsonb: heartbeat_timeout by type; names
-- $3 page int: maximum number of rows
-- $4 met_needs text[]
-- Indexes: idx_tasks_ready_at, the first 5,000 rows; tasks_pkey; one on tasks(heartbeat), or a full scan of a small table.
WITH due AS MATERIALIZED (
  (SELECT task_id, task_type, wake_at, heartbeat FROM :"schema".tasks WHERE $1::text[] IS NULL AND wake_at <= now() ORDER BY wake_at LIMIT 5000)
  UNION
  (SELECT task_id, task_type, wake_at, heartbeat FROM :"schema".tasks
    WHERE $1::text[] IS NULL AND 'task_by_heartbeat' = ANY ($4::text[]) AND heartbeat <> '0001-01-01T00:00:00Z'::timestamptz AND heartbeat > now() LIMIT 5000)
  UNION
  (SELECT task_id, task_type, wake_at, heartbeat FROM :"schema".tasks WHERE task_id = ANY (ARRAY(SELECT substr(i, 6)::macaddr8 FROM unnest($1::text[]) i WHERE i LIKE 'task:%')))
)
(SELECT 'task:' || t.task_id AS id, NULL::float8 AS since,
        jsonb_build_object('heartbeat', t.heartbeat::text, 'type', coalesce($2::jsonb -> 'names' ->> t.task_type::text, 'type ' || t.task_type),
                           'timeout', make_interval(secs => coalesce($2::jsonb -> t.task_type::text ->> 'heartbeat_timeout', $2::jsonb ->> 'heartbeat_timeout')::float8)::text,
                           'ahead', CASE WHEN isfinite(t.heartbeat) THEN date_trunc('second', t.heartbeat - now())::text ELSE 'infinitely far' END) AS evidence
   FROM due t
  WHERE t.heartbeat > now() + interval '1 minute'
  ORDER BY t.heartbeat, t.task_id
  LIMIT $3::int)
UNION ALL
SELECT NULL, NULL, NULL WHERE $1::text[] IS NULL AND NOT 'task_by_heartbeat' = ANY ($4::text[]) AND (SELECT count(*) FROM due) = 5000
