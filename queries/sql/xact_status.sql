-- What became of a transaction: committed, aborted, in progress; NULL where the server has forgotten it.
-- $1 id text
SELECT pg_xact_status($1::text::xid8) AS status
