-- Let the next statement take its own timeout, but not more than the time that is left of its transaction. Statements that
-- travel together are sent before it is known how long those before them take.
-- {timeout}: milliseconds that the statement may take; {lasts}: milliseconds from the begin of the transaction
-- Indexes: none.
SELECT set_config('statement_timeout', least({timeout}, greatest({lasts} - ceil(extract(epoch FROM clock_timestamp() - now()) * 1000), 1))::text, true)
