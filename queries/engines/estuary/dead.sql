-- Tasks that cannot continue without an operator: failing tasks with an undecodable message, tasks locked by a dead
-- worker and not due, idle tasks with an unread inbox and no wake_at. The engine keeps no dead letters and retries
-- without end. Of each kind the newest are read. A row without an id means that there may be more.
-- cursor: severity|time|id of the last row of the previous page, or NULL
-- Indexes: those of the included parts; tasks_pkey; one on tasks(heartbeat), if it exists. At most 5,000 tasks of each
-- kind.
WITH \ir parts/ends.sql
, \ir parts/verdicts.sql
, asked AS MATERIALIZED (
  SELECT t.* FROM :"schema".tasks t WHERE t.task_id = ANY (:task_keys)
),
held AS MATERIALIZED (
  (SELECT task_id, task_type, wake_at, heartbeat FROM :"schema".tasks
    WHERE :ids IS NULL AND 'task_by_heartbeat' = ANY (:met_needs)
      AND heartbeat <> '0001-01-01T00:00:00Z'::timestamptz AND heartbeat <= now() ORDER BY heartbeat DESC LIMIT 5000)
  UNION ALL
  SELECT task_id, task_type, wake_at, heartbeat FROM asked WHERE heartbeat <> '0001-01-01T00:00:00Z'::timestamptz AND (wake_at > now() OR wake_at IS NULL)
),
unread_inbox AS MATERIALIZED (
  (SELECT u.*
     FROM (SELECT task_id, task_type FROM :"schema".tasks -- scanned, which reads less than the order of an index
            WHERE :ids IS NULL AND 'task_scan' = ANY (:met_needs)
              AND wake_at IS NULL AND heartbeat = '0001-01-01T00:00:00Z'::timestamptz AND cardinality(inbox) > 0 OFFSET 0) AS u
    ORDER BY u.task_id DESC LIMIT 5000)
  UNION ALL
  SELECT task_id, task_type FROM asked WHERE wake_at IS NULL AND heartbeat = '0001-01-01T00:00:00Z'::timestamptz AND cardinality(inbox) > 0
),
dead AS (
  (SELECT DISTINCT ON (m.task_id) m.task_id, m.task_type, 8 AS severity, m.wake_at AS at, 'undecodable message' AS cause, coalesce(m.shown, 'NULL') AS error
     FROM verdicts m WHERE m.undecodable ORDER BY m.task_id, m.position)
  UNION ALL
  SELECT t.task_id, t.task_type, 8, t.heartbeat, 'locked by a dead worker', NULL
    FROM held t
   WHERE (t.wake_at > now() OR t.wake_at IS NULL)
     AND t.heartbeat <= now() - :heartbeat_timeout_of_kind
  UNION ALL
  SELECT u.task_id, u.task_type, 7, NULL, 'unread inbox', NULL FROM unread_inbox u
),
placed AS (
  SELECT DISTINCT ON (d.task_id) d.*, coalesce(d.at, '-infinity') AS place FROM dead d ORDER BY d.task_id, d.severity DESC
)
(SELECT 'task:' || p.task_id AS id, p.severity || '|' || p.place || '|' || p.task_id AS cursor, p.severity::int8 AS severity,
        extract(epoch FROM p.at)::float8 AS since,
        p.cause || ' - ' || coalesce(:settings -> 'names' ->> p.task_type::text, 'type ' || p.task_type) AS cause,
        p.error::text AS error, NULL::text AS was, NULL::text AS is_now
   FROM placed p
  WHERE :cursor IS NULL
     OR (p.severity, p.place, p.task_id)
        < (split_part(:cursor, '|', 1)::int, split_part(:cursor, '|', 2)::timestamptz, split_part(:cursor, '|', 3)::macaddr8)
  ORDER BY p.severity DESC, p.place DESC, p.task_id DESC
  LIMIT :limit)
UNION ALL
SELECT NULL, s.scope, NULL, NULL, NULL, NULL, NULL, NULL
  FROM (VALUES ('tasks that an index finds', NOT ARRAY['task_by_heartbeat', 'task_scan'] <@ :met_needs),
               ('the 2,500 tasks due first, the 2,500 due last' || CASE WHEN 'task_by_heartbeat' = ANY (:met_needs) THEN ' and the newest locked ones' ELSE '' END,
                (SELECT count(*) FROM ends) = 5000),
               ('the 5,000 locked tasks with the newest heartbeat', (SELECT count(*) FROM held) = 5000),
               ('the 5,000 newest tasks with an unread inbox', (SELECT count(*) FROM unread_inbox) = 5000)) AS s(scope, cut)
 WHERE :ids IS NULL AND s.cut
