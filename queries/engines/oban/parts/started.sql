-- Why a producer that is not registered is not taken for dead. A crash empties the unlogged table; a row from before the start
-- shows that there was none.
started AS (
  SELECT format('the server started %s s ago: after a crash, producers register again within seconds',
           floor(extract(epoch FROM now() - pg_postmaster_start_time()))) AS why
   WHERE pg_postmaster_start_time() > now() - :alive
     AND NOT EXISTS (SELECT FROM :"schema".oban_producers o WHERE o.started_at < timezone('UTC', pg_postmaster_start_time()))
)
