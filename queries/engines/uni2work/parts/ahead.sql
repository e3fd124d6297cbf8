-- Times of jobs and cron entries that are ahead of the server's clock, by more than the threshold. Rules that compare
-- ages do not apply to them, and cron and workers may do nothing until then.
-- Indexes: both ends of queued_job_pkey, the end of cron_last_exec_pkey, and those on the times if they exist.
ahead AS (
  WITH clock AS MATERIALIZED (SELECT now() + :ahead AS at),
  jobs AS (
    SELECT q.id, q.creation_instance, q.creation_time, q.lock_instance, q.lock_time
      FROM (SELECT * FROM :"schema".queued_job WHERE :ids IS NULL ORDER BY id LIMIT :head::int) AS q
    UNION
    SELECT q.id, q.creation_instance, q.creation_time, q.lock_instance, q.lock_time
      FROM (SELECT * FROM :"schema".queued_job WHERE :ids IS NULL ORDER BY id DESC LIMIT 500) AS q
    UNION
    SELECT q.id, q.creation_instance, q.creation_time, q.lock_instance, q.lock_time FROM :"schema".queued_job q
     WHERE q.id = ANY (:job_keys)
  ),
  entries AS (
    (SELECT c.id, c.instance, c."time", c.job FROM :"schema".cron_last_exec c WHERE :ids IS NULL ORDER BY c.id DESC LIMIT 1000)
    UNION
    (SELECT c.id, c.instance, c."time", c.job FROM :"schema".cron_last_exec c WHERE :ids IS NULL AND 'cron_time_index' = ANY (:met_needs)
      ORDER BY c."time" DESC LIMIT 200)
    UNION
    SELECT c.id, c.instance, c."time", c.job FROM :"schema".cron_last_exec c
     WHERE :ids IS NULL AND (SELECT pg_relation_size(format('%I.cron_last_exec', :'schema')::regclass) <= :cron_whole)
       AND c."time" > (SELECT k.at FROM clock k)
    UNION
    SELECT c.id, c.instance, c."time", c.job FROM :"schema".cron_last_exec c
     WHERE c.id = ANY (:cron_keys)
  )
  SELECT 'job:' || j.id AS id, 'lock' AS what, j.lock_time AS at, j.lock_instance::text AS instance FROM jobs j WHERE j.lock_time > (SELECT c.at FROM clock c)
  UNION ALL
  SELECT 'job:' || j.id, 'creation', j.creation_time, j.creation_instance::text FROM jobs j
   WHERE j.creation_time > (SELECT c.at FROM clock c) AND (j.lock_time > (SELECT c.at FROM clock c)) IS NOT TRUE
  UNION ALL
  SELECT 'cron:' || e.id, 'last execution of ' || left(coalesce(e.job ->> 'job', 'a cron job without a kind'), 80), e."time", e.instance::text FROM entries e WHERE e."time" > (SELECT c.at FROM clock c)
)
