-- The most rows that the current transaction has read of one table.
-- Only this session's own counters are read.
SELECT coalesce(max(s.seq_tup_read + coalesce(s.idx_tup_fetch, 0)), 0)::int8 AS n
  FROM pg_stat_xact_user_tables s
 WHERE s.schemaname NOT LIKE 'pg\_%'
