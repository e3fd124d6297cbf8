-- Take the lock of a redrive until the end of this transaction, if it is free. A lock of the session would not survive a
-- pooler in transaction mode.
-- query: name of the lock
SELECT pg_try_advisory_xact_lock(hashtextextended('unstick redrive ' || :query, 0)) AS taken
