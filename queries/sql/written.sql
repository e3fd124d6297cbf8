-- Rows that this session has inserted, updated and deleted, by table, also by foreign keys, triggers, rules. Subtract
-- the numbers from before a change: the server keeps those of earlier transactions for a while.
-- schema, ids: the engine's schema, and its tables
-- The first row has no table. `counted`: not if track_counts is off. `policies`: tables whose row-level security
-- restricts this role now. `at`: the server's clock, in seconds since 1970.
-- A partition counts for its table. All catalogs are one table: CREATE, ALTER and TRUNCATE in a trigger write to them.
-- Reads pg_class once, whose rows are one per table and index, and counters in the memory of this session.
SELECT NULL::text AS schema, NULL::text AS name, current_setting('track_counts') = 'on' AS counted,
       ARRAY(SELECT c.relname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
            WHERE c.relname = ANY (:ids) AND n.nspname = :schema AND row_security_active(c.oid) ORDER BY 1) AS policies,
       extract(epoch FROM clock_timestamp())::float8 AS at, 0::int8 AS inserted, 0::int8 AS updated, 0::int8 AS deleted
UNION ALL
SELECT n.nspname::text, CASE WHEN n.nspname = 'pg_catalog' THEN '' ELSE r.relname::text END, true, '{}', 0,
       sum(s.inserted)::int8, sum(s.updated)::int8, sum(s.deleted)::int8
  FROM (SELECT CASE WHEN c.relispartition THEN pg_partition_root(c.oid)::oid ELSE c.oid END AS oid,
               pg_stat_get_xact_tuples_inserted(c.oid) AS inserted, pg_stat_get_xact_tuples_updated(c.oid) AS updated,
               pg_stat_get_xact_tuples_deleted(c.oid) AS deleted
          FROM pg_class c WHERE c.relkind = 'r' AND c.relpersistence <> 't'
        OFFSET 0) AS s -- OFFSET 0: each counter is read once
  JOIN pg_class r ON r.oid = s.oid
  JOIN pg_namespace n ON n.oid = r.relnamespace
 WHERE s.inserted <> 0 OR s.updated <> 0 OR s.deleted <> 0
 GROUP BY 1, 2
