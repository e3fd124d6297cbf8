-- Locked tasks without a running poll that have more messages than the threshold large_inbox.
-- $1 ids text[]: local ids to check, or NULL for all
-- $2 settings jsonb: heartbeat_timeout by type; names, executors
-- $3 page int: maximum number of rows
-- Indexes: idx_tasks_ready_at, the first 5,000 rows; tasks_pkey.
WITH due AS MATERIALIZED (
  (SELECT task_id, task_type, wake_at, heartbeat FROM :"schema".tasks WHERE $1::text[] IS NULL AND wake_at <= now() ORDER BY wake_at LIMIT 5000)
  UNION ALL
  (SELECT task_id, task_type, wake_at, heartbeat FROM :"schema".tasks WHERE task_id = ANY (ARRAY(SELECT substr(i, 6)::macaddr8 FROM unnest($1::text[]) i WHERE i LIKE 'task:%')))
),
held AS MATERIALIZED (
  SELECT d.* FROM due d
   WHERE d.heartbeat <> '0001-01-01T00:00:00Z'::timestamptz
     AND d.heartbeat <= now() - 0.75 * make_interval(secs => coalesce($2::jsonb -> d.task_type::text ->> 'heartbeat_timeout', $2::jsonb ->> 'heartbeat_timeout')::float8)
),
-- Only the messages of these tasks are counted: large inboxes are stored out of line (TOAST), and a count reads them.
messages AS (
  SELECT o.task_id, coalesce(cardinality(o.inbox), 0) AS inbox, coalesce(cardinality(o.inbox_next), 0) AS inbox_next
    FROM :"schema".tasks o WHERE o.task_id = ANY (ARRAY(SELECT h.task_id::macaddr8 FROM held h))
)
(SELECT 'task:' || t.task_id AS id, extract(epoch FROM t.wake_at)::float8 AS since,
        jsonb_build_object('messages', m.inbox + m.inbox_next || ' messages', 'inbox', m.inbox, 'inbox_next', m.inbox_next,
                           'type', coalesce($2::jsonb -> 'names' ->> t.task_type::text, 'type ' || t.task_type),
                           'executor', coalesce($2::jsonb -> 'executors' ->> t.task_type::text, $2::jsonb -> 'names' ->> t.task_type::text, 'type ' || t.task_type)) AS evidence
   FROM held t JOIN messages m ON m.task_id = t.task_id
  WHERE m.inbox + m.inbox_next > coalesce($2::jsonb -> t.task_type::text ->> 'large_inbox', $2::jsonb ->> 'large_inbox')::float8
  ORDER BY m.inbox + m.inbox_next DESC, t.task_id
  LIMIT $3::int)
UNION ALL
SELECT NULL, NULL, NULL WHERE $1::text[] IS NULL AND (SELECT count(*) FROM due) = 5000
