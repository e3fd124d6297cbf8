-- What became of a transaction: committed, aborted, in progress; NULL where the server has forgotten it, is a standby,
-- or is on another line of history.
-- $1 id text: the transaction
-- $2 query text: the line of history it belongs to
SELECT CASE WHEN NOT pg_is_in_recovery()
             AND (SELECT system_identifier FROM pg_control_system()) || '/' || left(pg_walfile_name(pg_current_wal_lsn()), 8) = $2::text
            THEN pg_xact_status($1::text::xid8) END AS status
