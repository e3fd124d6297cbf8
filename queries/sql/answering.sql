-- Which server and backend answer the other statements of a transaction. Its functions are stable: a pooler that balances
-- reads sends it where it sends the rows' statements.
-- Indexes: none.
SELECT current_setting('in_hot_standby') = 'on' AS standby, extract(epoch FROM pg_postmaster_start_time())::float8 AS started, pg_backend_pid() AS pid
