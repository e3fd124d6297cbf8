-- Nodes by id, one row for each id that exists.
-- $1 ids text[]: local ids, task:xx:xx:xx:xx:xx:xx:xx:xx
-- $2 settings jsonb: heartbeat_timeout by type; names
-- Index: tasks_pkey, for the tasks and once for all their parents. A task whose parent_id is NULL, all zero or of no row has
-- no parent.
WITH seen AS MATERIALIZED (
  SELECT t.*, t.xmin::text AS version,
         t.heartbeat = '0001-01-01T00:00:00Z'::timestamptz AS idle,
         make_interval(secs => coalesce($2::jsonb -> t.task_type::text ->> 'heartbeat_timeout', $2::jsonb ->> 'heartbeat_timeout')::float8) AS timeout,
         1600000000 + (('x' || replace(t.task_id::text, ':', ''))::bit(64)::bigint >> 23) / 1000.0 AS created,
         coalesce(cardinality(t.inbox), 0) + coalesce(cardinality(t.inbox_next), 0) AS messages
    FROM :"schema".tasks t
   WHERE t.task_id = ANY (ARRAY(SELECT substr(i, 6)::macaddr8 FROM unnest($1::text[]) AS i WHERE i ~* '^task:([0-9a-f]{2}(:[0-9a-f]{2}){7}|[0-9a-f]{16})$'))
),
parents AS MATERIALIZED (
  SELECT p.task_id FROM :"schema".tasks p
   WHERE p.task_id = ANY (ARRAY(SELECT s.parent_id::macaddr8 FROM seen s
                                 WHERE s.parent_id <> s.task_id AND s.parent_id <> '00:00:00:00:00:00:00:00'::macaddr8))
),
statuses AS (
  SELECT s.*, p.task_id AS parent, CASE WHEN s.idle AND s.wake_at IS NULL THEN 'suspended'
                   WHEN s.idle AND s.wake_at <= now() THEN 'ready'
                   WHEN s.idle THEN 'sleeping'
                   WHEN s.heartbeat > now() - 0.75 * s.timeout THEN 'polling'
                   WHEN s.heartbeat > now() - s.timeout THEN 'lapsed'
                   WHEN s.wake_at <= now() THEN 'reclaimable'
                   ELSE 'orphaned' END AS status
    FROM seen s
    LEFT JOIN parents p ON p.task_id = s.parent_id AND p.task_id <> s.task_id
)
SELECT 'task:' || t.task_id AS id, 'task:' || t.parent AS parent_id, NULL::text AS job_id, 'task' AS kind,
       coalesce($2::jsonb -> 'names' ->> t.task_type::text, 'type ' || t.task_type)
         || CASE t.messages WHEN 0 THEN '' WHEN 1 THEN ' · 1 message' ELSE ' · ' || t.messages || ' messages' END AS title,
       t.status,
       CASE t.status WHEN 'suspended' THEN 'blocked' WHEN 'ready' THEN 'ready' WHEN 'sleeping' THEN 'scheduled'
                     WHEN 'polling' THEN 'running' WHEN 'orphaned' THEN 'failed' ELSE 'held' END AS phase,
       NULL::int8 AS revision, NULL::float8 AS cpu, NULL::float8 AS poll,
       CASE WHEN t.created BETWEEN 1600000000 AND extract(epoch FROM now()) + 86400 THEN t.created::float8 END AS created_at,
       NULL::float8 AS changed_at,
       extract(epoch FROM t.wake_at)::float8 AS due_at,
       NULL::text AS owner,
       CASE WHEN NOT t.idle THEN extract(epoch FROM t.heartbeat)::float8 END AS heartbeat_at,
       NULL::int8 AS attempts, NULL::int8 AS max_attempts, NULL::text AS error,
       t.version, extract(epoch FROM now())::float8 AS now
  FROM statuses t
