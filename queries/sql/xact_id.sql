-- This transaction's id, and which line of history it belongs to: by both its commit can be settled when the answer
-- is lost. Another server, or this one after a failover, may know the same id for another transaction.
SELECT pg_current_xact_id()::text AS xid,
       (SELECT system_identifier FROM pg_control_system()) || '/' || left(pg_walfile_name(pg_current_wal_lsn()), 8) AS history
