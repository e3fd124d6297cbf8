-- This transaction's id, by which its commit can be settled when the answer is lost.
SELECT pg_current_xact_id()::text AS xid
