-- This transaction's id, start time and place in the WAL, and the server's `life` and `history`. With them the console finds
-- out the outcome of a COMMIT whose answer was lost. `synchronous` names the standbys that COMMIT waits for.
WITH
\ir parts/server_life.sql
,
\ir parts/server_standbys.sql
SELECT pg_current_xact_id()::text AS xid, extract(epoch FROM now())::float8 AS at, pg_current_wal_insert_lsn()::text AS lsn,
       v.life, v.history, CASE WHEN current_setting('synchronous_commit') NOT IN ('off', 'local') THEN current_setting('synchronous_standby_names') ELSE '' END
         AS synchronous,
       b.standbys, b.slots
  FROM server_life v CROSS JOIN server_standbys b
