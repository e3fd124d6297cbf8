-- Rows that the current transaction has inserted, updated and deleted, by table; a partition counts for its table.
-- Includes what triggers wrote. Only this session's own counters are read.
-- Indexes: pg_class_oid_index, pg_inherits_relid_seqno_index.
SELECT coalesce(r.relname, s.relname)::text AS "table",
       sum(s.n_tup_ins)::int8 AS inserted, sum(s.n_tup_upd)::int8 AS updated, sum(s.n_tup_del)::int8 AS deleted
  FROM pg_stat_xact_user_tables s
  LEFT JOIN pg_class r ON r.oid = pg_partition_root(s.relid)
 WHERE s.n_tup_ins + s.n_tup_upd + s.n_tup_del > 0 AND s.schemaname NOT LIKE 'pg\_%'
 GROUP BY 1
