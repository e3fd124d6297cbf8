-- Sessions that wait for locks, with those that they wait for; sessions that use the engines' tables; and the given ones.
-- ids: pids
-- limit: most waiting sessions
-- args: the engines' tables: [[schema, table, label], ...]
-- `tables`: engines' tables on which the session has or wants a lock to change, to lock rows, or a stronger one. pid NULL:
-- a prepared transaction. `hidden`: the role may not see the session's activity. pg_blocking_pids() is called only for
-- sessions that wait, because it stops the server's lock manager for a moment.
-- Indexes: pg_namespace_nspname_index, pg_class_relname_nsp_index. pg_locks is read once.
WITH tables AS MATERIALIZED (
  SELECT c.oid, c.relname, t ->> 2 AS label
    FROM jsonb_array_elements(:args) AS t
    JOIN pg_namespace n ON n.nspname = t ->> 0
    JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = t ->> 1
),
here AS MATERIALIZED (SELECT d.oid FROM pg_database d WHERE d.datname = current_database()),
activity AS MATERIALIZED (SELECT a.* FROM pg_stat_activity a), -- its joins are planned apart from those below
locks AS MATERIALIZED (SELECT l.* FROM pg_locks l WHERE l.pid IS DISTINCT FROM pg_backend_pid()),
prepared AS MATERIALIZED (
  SELECT l.virtualtransaction AS transaction, x.gid, x.prepared, x.owner, x.database
    FROM pg_prepared_xacts x
    JOIN locks l ON l.pid IS NULL AND l.locktype = 'transactionid' AND l.transactionid = x.transaction
),
waits AS MATERIALIZED (
  SELECT DISTINCT ON (l.pid) l.*
    FROM locks l
   WHERE NOT l.granted
   ORDER BY l.pid, l.waitstart
),
waiting AS MATERIALIZED (
  SELECT w.* FROM waits w ORDER BY w.pid::text = ANY (:ids) DESC, w.waitstart NULLS LAST, w.pid LIMIT :limit
),
edges AS MATERIALIZED (
  SELECT w.pid, b.pid AS blocker, NULL::text AS gid FROM waiting w CROSS JOIN LATERAL unnest(pg_blocking_pids(w.pid)) AS b(pid) WHERE b.pid > 0
  UNION
  SELECT w.pid, NULL, p.gid
    FROM waiting w
    JOIN locks l ON l.pid IS NULL AND l.granted AND l.locktype = w.locktype AND l.database IS NOT DISTINCT FROM w.database
                AND l.relation IS NOT DISTINCT FROM w.relation AND l.page IS NOT DISTINCT FROM w.page AND l.tuple IS NOT DISTINCT FROM w.tuple
                AND l.transactionid IS NOT DISTINCT FROM w.transactionid AND l.classid IS NOT DISTINCT FROM w.classid
                AND l.objid IS NOT DISTINCT FROM w.objid AND l.objsubid IS NOT DISTINCT FROM w.objsubid
    JOIN prepared p ON p.transaction = l.virtualtransaction
   WHERE 0 = ANY (pg_blocking_pids(w.pid))
),
used AS (
  SELECT l.pid, p.gid, array_agg(DISTINCT t.relname::text ORDER BY t.relname::text) AS tables, array_agg(DISTINCT t.label) AS engines
    FROM locks l
    JOIN tables t ON t.oid = l.relation
    LEFT JOIN prepared p ON l.pid IS NULL AND p.transaction = l.virtualtransaction
   WHERE l.locktype IN ('relation', 'tuple') AND l.mode <> 'AccessShareLock' AND l.database = (SELECT h.oid FROM here h)
   GROUP BY l.pid, p.gid
),
wanted AS (
  SELECT i::int AS pid, NULL::text AS gid FROM unnest(:ids) AS i
  UNION SELECT e.pid, NULL FROM edges e
  UNION SELECT e.blocker, e.gid FROM edges e
  UNION SELECT u.pid, u.gid FROM used u
)
SELECT w.pid, coalesce(w.gid, '') AS gid, extract(epoch FROM a.backend_start)::float8 AS backend_start,
       coalesce(a.application_name, '') AS application, coalesce(a.usename::text, p.owner::text, '') AS role,
       coalesce(a.client_hostname, host(a.client_addr), '') || coalesce(':' || nullif(a.client_port, -1), '') AS client,
       coalesce(a.datname::text, p.database::text, '') AS database, coalesce(a.backend_type, '') AS type, coalesce(a.state, '') AS state,
       coalesce(a.wait_event_type || ': ' || a.wait_event, '') AS wait,
       extract(epoch FROM coalesce(a.xact_start, p.prepared))::float8 AS since,
       extract(epoch FROM a.state_change)::float8 AS state_since,
       CASE WHEN a.query = '<insufficient privilege>' THEN '' ELSE coalesce(left(a.query, 500), '') END AS query,
       coalesce(a.query = '<insufficient privilege>', false) AS hidden, coalesce(u.tables, '{}') AS tables, coalesce(u.engines, '{}') AS engines,
       CASE WHEN l.locktype = 'relation' THEN coalesce(l.mode || ' on ' || c.relname, l.mode)
            WHEN l.locktype = 'tuple' THEN coalesce('a row of ' || c.relname, 'a row')
            WHEN l.locktype = 'transactionid' THEN 'a row that a transaction locks'
            WHEN l.pid IS NOT NULL THEN l.mode || ' (' || l.locktype || ')' ELSE '' END AS waits_for,
       extract(epoch FROM l.waitstart)::float8 AS waits_since,
       coalesce((SELECT array_agg(coalesce(e.blocker::text, e.gid) ORDER BY e.blocker, e.gid) FROM edges e WHERE e.pid = w.pid), '{}') AS blocked_by,
       (SELECT count(*) FROM waits) AS all_waiting, extract(epoch FROM clock_timestamp())::float8 AS now
  FROM wanted w
  LEFT JOIN activity a ON a.pid = w.pid
  LEFT JOIN prepared p ON p.gid = w.gid
  LEFT JOIN used u ON u.pid = w.pid OR u.gid = w.gid
  LEFT JOIN waiting l ON l.pid = w.pid
  LEFT JOIN pg_class c ON c.oid = l.relation AND l.database = (SELECT h.oid FROM here h)
 WHERE a.pid IS NOT NULL OR p.gid IS NOT NULL
 ORDER BY w.pid, w.gid
