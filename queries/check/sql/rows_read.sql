-- The most rows that the current transaction has read of one table without an index.
-- Only this session's own counters are read.
SELECT coalesce(max(s.seq_tup_read), 0)::int8 AS n
  FROM pg_stat_xact_user_tables s
 WHERE s.schemaname NOT LIKE 'pg\_%'
