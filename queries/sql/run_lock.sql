-- Take the lock of a run until the end of this transaction. It is waited for in the server's queue, which no later request
-- overtakes: however many changes of the run follow each other, only those that have begun are waited for. A lock of the
-- session would not survive a pooler in transaction mode.
-- query: name of the lock
-- args: timeout: most milliseconds to wait
WITH before AS MATERIALIZED (SELECT current_setting('lock_timeout') AS lock_timeout)
SELECT set_config('lock_timeout', :args ->> 'timeout', true), pg_advisory_xact_lock(hashtextextended('unstick run ' || :query, 0)),
       set_config('lock_timeout', b.lock_timeout, true)
  FROM before b
