-- Nodes by id, one row for each id that exists.
-- Index: tasks_pkey, for the tasks and once for all their parents. A task whose parent_id is NULL, all zero or of no
-- row has no parent.
WITH seen AS MATERIALIZED (
  SELECT t.*, t.xmin::text AS version, t.ctid::text AS place,
         t.heartbeat = '0001-01-01T00:00:00Z'::timestamptz AS idle,
         :heartbeat_timeout_of_kind AS timeout,
         1600000000 + (('x' || replace(t.task_id::text, ':', ''))::bit(64)::bigint >> 23) / 1000.0 AS created,
         coalesce(cardinality(t.inbox), 0) + coalesce(cardinality(t.inbox_next), 0) AS messages
    FROM :"schema".tasks t
   WHERE t.task_id = ANY (ARRAY(SELECT substr(i, 6)::macaddr8 FROM unnest(:ids) AS i WHERE i ~* '^task:([0-9a-f]{2}(:[0-9a-f]{2}){7}|[0-9a-f]{16})$'))
),
parents AS MATERIALIZED (
  SELECT p.task_id FROM :"schema".tasks p
   WHERE p.task_id = ANY (ARRAY(SELECT s.parent_id::macaddr8 FROM seen s
                                 WHERE s.parent_id <> s.task_id AND s.parent_id <> '00:00:00:00:00:00:00:00'::macaddr8))
),
\ir parts/statuses.sql
SELECT 'task:' || t.task_id AS id, 'task:' || p.task_id AS parent_id, 'task' AS kind,
       coalesce(:settings -> 'names' ->> t.task_type::text, 'type ' || t.task_type)
         || CASE t.messages WHEN 0 THEN '' WHEN 1 THEN ' - 1 message' ELSE ' - ' || t.messages || ' messages' END AS title,
       t.status,
       CASE WHEN t.created BETWEEN 1600000000 AND extract(epoch FROM now()) + 86400 THEN t.created::float8 END AS created_at,
       extract(epoch FROM t.wake_at)::float8 AS due_at,
       CASE WHEN NOT t.idle THEN extract(epoch FROM t.heartbeat)::float8 END AS heartbeat_at,
       t.version, extract(epoch FROM now())::float8 AS now, t.place
  FROM statuses t
  LEFT JOIN parents p ON p.task_id = t.parent_id AND p.task_id <> t.task_id
