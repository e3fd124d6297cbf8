-- Cancel jobs as the engine's mark_job_as_cancelled does: delete the row, log it, and notify the worker that may run
-- it. The engine's trigger notifies of the deletion.
-- Indexes: pgqueuer_pkey, pgqueuer_log_job_id_status.

-- :refused
SELECT 'job:' || j.id AS id, 'the job is ' || j.status || ': only a job that waits or runs can be cancelled' AS why
  FROM :"schema".:"pgqueuer" j
 WHERE j.id = ANY (:job_keys) AND j.status NOT IN ('queued', 'picked')

-- :change
WITH changed AS (
  DELETE FROM :"schema".:"pgqueuer" j
   USING unnest(:ids, :versions) AS seen(id, version)
   WHERE j.id = substr(seen.id, 5)::int8 AND j.xmin::text = seen.version AND j.status IN ('queued', 'picked')
  RETURNING j.id, j.entrypoint, j.priority
),
logged AS (
  INSERT INTO :"schema".:"pgqueuer_log" (job_id, status, entrypoint, priority)
  SELECT c.id, 'canceled', c.entrypoint, c.priority FROM changed c
)
SELECT 'job:' || c.id AS id
  FROM changed c
 CROSS JOIN LATERAL (SELECT pg_notify(:'ch_pgqueuer', json_build_object('channel', :'ch_pgqueuer', 'ids', json_build_array(c.id), 'sent_at', now(),
                                                                       'type', 'cancellation_event')::text)) AS n
