-- Take the lock of a run until the end of this transaction, if no other transaction has it. A lock of the session would
-- not survive a pooler in transaction mode.
-- query: name of the lock
SELECT pg_try_advisory_xact_lock(hashtextextended('unstick run ' || :query, 0)) AS taken
