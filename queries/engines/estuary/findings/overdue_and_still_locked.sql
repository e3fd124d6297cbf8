-- Tasks that are locked and due for more than three timeouts: one long poll, or a poll that fails each time.
-- $1 ids text[]: local ids to check, or NULL for all
-- $2 settings jsonb: heartbeat_timeout by type; names, executors
-- $3 page int: maximum number of rows
-- Indexes: idx_tasks_ready_at, the first 5,000 rows; tasks_pkey.
WITH due AS MATERIALIZED (
  (SELECT task_id, task_type, wake_at, heartbeat FROM :"schema".tasks WHERE $1::text[] IS NULL AND wake_at <= now() ORDER BY wake_at LIMIT 5000)
  UNION ALL
  (SELECT task_id, task_type, wake_at, heartbeat FROM :"schema".tasks WHERE task_id = ANY (ARRAY(SELECT substr(i, 6)::macaddr8 FROM unnest($1::text[]) i WHERE i LIKE 'task:%')))
)
(SELECT 'task:' || t.task_id AS id, extract(epoch FROM t.wake_at)::float8 AS since,
        jsonb_build_object('due', date_trunc('second', t.wake_at)::timestamp::text, 'heartbeat', t.heartbeat::text,
                           'age', date_trunc('second', now() - t.heartbeat)::text, 'half', (0.5 * l.timeout)::text,
                           'type', coalesce($2::jsonb -> 'names' ->> t.task_type::text, 'type ' || t.task_type),
                           'executor', coalesce($2::jsonb -> 'executors' ->> t.task_type::text, $2::jsonb -> 'names' ->> t.task_type::text, 'type ' || t.task_type)) AS evidence
   FROM due t
  CROSS JOIN LATERAL (SELECT make_interval(secs => coalesce($2::jsonb -> t.task_type::text ->> 'heartbeat_timeout', $2::jsonb ->> 'heartbeat_timeout')::float8) AS timeout) AS l
  WHERE t.heartbeat <> '0001-01-01T00:00:00Z'::timestamptz
    AND t.heartbeat BETWEEN now() - 2 * l.timeout AND now()
    AND t.wake_at < now() - 3 * l.timeout
    AND isfinite(t.wake_at)
  ORDER BY t.wake_at, t.task_id
  LIMIT $3::int)
UNION ALL
SELECT NULL, NULL, NULL WHERE $1::text[] IS NULL AND (SELECT count(*) FROM due) = 5000
