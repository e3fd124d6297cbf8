-- Transactions that hold rows of nodes, and sessions that wait for these rows.
-- {rows} are the statements of the engines' rows.sql: engine, id, relation, place, locker (the row's xmax).
-- `how` is one of: "locks"; the mode of a member of a MultiXact; "released": the lock was taken in a savepoint that was
-- released, so only locks of its transaction are left, and each older transaction that locks the table is a candidate;
-- "waits". A row keeps the xmax of a finished transaction, so only transactions in progress count. A MultiXact may have
-- the number of a transaction, so the holder must also have a lock on the table that row locks require.
-- pid NULL: a prepared transaction.
-- Indexes: those of the engines' statements. pg_locks is read once, and only if a row has an xmax.
WITH locked AS MATERIALIZED (
  SELECT a.* FROM (
{rows}
  ) AS a
   WHERE a.locker <> '0'::xid
),
locks AS MATERIALIZED (
  SELECT l.*
    FROM pg_locks l
   WHERE EXISTS (SELECT FROM locked)
     AND (l.locktype = 'transactionid'
          OR (l.locktype IN ('relation', 'tuple') AND l.relation IN (SELECT k.relation FROM locked k)
              AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())))
),
owners AS MATERIALIZED (
  SELECT l.transactionid AS xid, l.virtualtransaction AS transaction, l.pid
    FROM locks l
   WHERE l.locktype = 'transactionid' AND l.granted AND l.mode = 'ExclusiveLock' AND l.pid IS DISTINCT FROM pg_backend_pid()
),
users AS MATERIALIZED (
  SELECT DISTINCT l.relation, l.virtualtransaction AS transaction
    FROM locks l
   WHERE l.locktype = 'relation' AND l.granted AND l.mode <> 'AccessShareLock'
),
multixacts AS MATERIALIZED (
  -- Only numbers that exist: the function fails for others.
  SELECT DISTINCT k.locker
    FROM locked k
   WHERE mxid_age(k.locker) > 0 AND mxid_age(k.locker) <= (SELECT max(mxid_age(d.datminmxid)) FROM pg_database d)
),
parties AS MATERIALIZED (
  SELECT DISTINCT k.locker, k.locker AS xid, 'locks' AS how FROM locked k
  UNION ALL
  SELECT x.locker, m.xid, m.mode FROM multixacts x CROSS JOIN LATERAL pg_get_multixact_members(x.locker) AS m(xid, mode)
),
unowned AS MATERIALIZED (
  SELECT p.locker, p.xid, (n.next + (((p.xid::text::int8 - n.next) % 4294967296 + 6442450944) % 4294967296 - 2147483648)) AS whole
    FROM parties p
   CROSS JOIN (SELECT pg_snapshot_xmax(pg_current_snapshot())::text::int8 AS next) AS n
   WHERE age(p.xid) > 0 AND NOT EXISTS (SELECT FROM owners o WHERE o.xid = p.xid)
),
released AS MATERIALIZED (
  SELECT u.locker, u.xid FROM unowned u WHERE CASE WHEN u.whole > 2 THEN pg_xact_status(u.whole::text::xid8) = 'in progress' END
),
found AS (
  SELECT k.engine, k.id, k.relation, k.place, p.how, o.transaction, o.pid
    FROM locked k
    JOIN parties p ON p.locker = k.locker
    JOIN owners o ON o.xid = p.xid
    JOIN users u ON u.relation = k.relation AND u.transaction = o.transaction
  UNION
  SELECT k.engine, k.id, k.relation, k.place, 'released', o.transaction, o.pid
    FROM locked k
    JOIN released r ON r.locker = k.locker
    JOIN owners o ON age(o.xid) > age(r.xid) -- a transaction has its id before its savepoints have theirs
    JOIN users u ON u.relation = k.relation AND u.transaction = o.transaction
  UNION
  SELECT k.engine, k.id, k.relation, k.place, 'waits', l.virtualtransaction, l.pid
    FROM locked k
    JOIN locks l ON l.locktype = 'tuple' AND l.relation = k.relation AND format('(%s,%s)', l.page, l.tuple) = k.place
   WHERE l.pid IS DISTINCT FROM pg_backend_pid()
)
SELECT f.engine, f.id, c.relname::text AS "table", f.place, f.how, f.pid, coalesce(x.gid, '') AS gid, extract(epoch FROM x.prepared)::float8 AS prepared
  FROM found f
  JOIN pg_class c ON c.oid = f.relation
  LEFT JOIN owners o ON f.pid IS NULL AND o.transaction = f.transaction
  LEFT JOIN pg_prepared_xacts x ON x.transaction = o.xid
 WHERE f.pid IS NOT NULL OR x.gid IS NOT NULL
 ORDER BY f.engine, f.id, c.relname, f.place, f.how, f.pid, x.gid
