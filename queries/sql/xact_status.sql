-- Status of a transaction: committed, aborted, in progress; NULL if the server no longer knows it; an error for an id that
-- was never assigned. `life` and `history` are those of xact_id.sql: if they differ, the id may belong to another transaction
-- now. `standby`: it may lag. `synchronous`: COMMIT waits for a standby.
-- id: the transaction's id
WITH
\ir parts/server_life.sql
SELECT pg_xact_status(:id::text::xid8) AS status, pg_is_in_recovery() AS standby,
       v.life, v.history, current_setting('synchronous_standby_names') <> '' AND current_setting('synchronous_commit') NOT IN ('off', 'local')
         AS synchronous
  FROM server_life v
