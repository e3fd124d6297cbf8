-- Sessions that lock a table exclusively, or wait to, among the tables named in a statement that timed out on a lock.
-- Runs after that statement failed: pg_blocking_pids() covers only sessions that are still waiting.
-- query: the statement
-- `who` may also be a prepared transaction, which has no session. `behind`: the blockers of a waiting session.
-- `hidden`: the role may not see the session's activity.
-- Indexes: pg_class_oid_index, pg_namespace_oid_index; pg_locks is read once.
WITH locks AS MATERIALIZED (
  SELECT l.* FROM pg_locks l WHERE l.locktype IN ('relation', 'transactionid')
),
exclusive AS (
  -- A prepared transaction has no pid. It locks its own id.
  SELECT l.relation, l.pid, l.granted, x.gid, x.prepared
    FROM locks l
    LEFT JOIN locks own ON l.pid IS NULL AND own.pid IS NULL AND own.locktype = 'transactionid' AND own.virtualtransaction = l.virtualtransaction
    LEFT JOIN pg_prepared_xacts x ON x.transaction = own.transactionid
   WHERE l.locktype = 'relation' AND l.mode = 'AccessExclusiveLock' AND l.pid IS DISTINCT FROM pg_backend_pid()
     AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
),
named AS (
  -- A lock on an index or a partition also blocks readers of its table.
  SELECT x.pid, x.granted, x.gid, x.prepared, c.relname, t.relname AS asked, t.relnamespace
    FROM exclusive x JOIN pg_class c ON c.oid = x.relation
    LEFT JOIN pg_index i ON i.indexrelid = c.oid
    JOIN pg_class t ON t.oid = coalesce(pg_partition_root(coalesce(i.indrelid, c.oid)), i.indrelid, c.oid)
)
SELECT DISTINCT ON (n.granted, n.pid, n.gid) n.relname::text AS relation, n.asked::text AS asked, s.nspname::text AS schema, n.granted,
       coalesce('prepared transaction ' || n.gid,
                format('pid %s (%s, role %s)', n.pid, coalesce(nullif(a.application_name, ''), a.backend_type, 'no name'), coalesce(a.usename, '?'))) AS who,
       a.state, extract(epoch FROM clock_timestamp() - coalesce(a.xact_start, n.prepared))::float8 AS seconds,
       coalesce(a.query = '<insufficient privilege>', false) AS hidden,
       CASE WHEN NOT n.granted THEN
         (SELECT string_agg(format('pid %s (%s, role %s)', b.pid, coalesce(nullif(s.application_name, ''), s.backend_type, 'no name'), coalesce(s.usename, '?')), ', ')
            FROM unnest(pg_blocking_pids(n.pid)) AS b(pid) LEFT JOIN pg_stat_activity s ON s.pid = b.pid) END AS behind
  FROM named n
  JOIN pg_namespace s ON s.oid = n.relnamespace
  LEFT JOIN pg_stat_activity a ON a.pid = n.pid
 WHERE position(n.asked::text IN :query) > 0
 ORDER BY n.granted DESC, n.pid, n.gid, n.relname
 LIMIT 3
