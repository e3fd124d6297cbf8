-- Take the lock of a run until the end of this transaction together with other changes of the run. Like `run_lock`, but a
-- transaction that waits for the lock alone comes first.
-- query: name of the lock
-- args: timeout: most milliseconds to wait
WITH before AS MATERIALIZED (SELECT current_setting('lock_timeout') AS lock_timeout)
SELECT set_config('lock_timeout', :args ->> 'timeout', true), pg_advisory_xact_lock_shared(hashtextextended('unstick run ' || :query, 0)),
       set_config('lock_timeout', b.lock_timeout, true)
  FROM before b
