-- Take the lock of a run until the end of this transaction together with other changes of the run, if no transaction has
-- it alone.
-- query: name of the lock
SELECT pg_try_advisory_xact_lock_shared(hashtextextended('unstick run ' || :query, 0)) AS taken
