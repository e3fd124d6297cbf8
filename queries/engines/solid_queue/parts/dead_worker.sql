-- Signs of life of the workers that claimed these jobs.
dead_worker AS (
  WITH \ir jobs.sql
  SELECT 'job:' || j.id AS id, 'heartbeat' AS witness, CASE WHEN j.worker_dead THEN 'dead' ELSE 'alive' END AS verdict,
         CASE WHEN j.process IS NULL THEN coalesce('process ' || j.process_id || ' is not registered any more', 'the claim names no process')
              ELSE j.kind || ' ' || j.process || coalesce(' on ' || j.hostname, '') || ', pid ' || j.pid || ', last heartbeat at ' || date_trunc('second', j.beat) || ' UTC' END AS detail,
         extract(epoch FROM coalesce(j.beat, j.claimed_at))::float8 AS since
    FROM jobs j
   WHERE j.claimed IS NOT NULL
)
