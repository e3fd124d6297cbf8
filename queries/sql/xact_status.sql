-- What became of a transaction: committed, aborted, in progress; NULL where the server has forgotten it; an error where
-- it never had such an id. `life` as in xact_id.sql: where it differs, the id may have been given to another since.
-- $1 id text: the transaction's id
SELECT pg_xact_status($1::text::xid8) AS status,
       pg_postmaster_start_time() || ' ' || coalesce(pg_stat_get_bgwriter_stat_reset_time()::text, '') AS life
