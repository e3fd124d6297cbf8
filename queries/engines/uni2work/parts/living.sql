-- Asked jobs, and why the instance that locked each may live: its lock is young, the operator has not confirmed that it
-- is gone, or it shows activity (signs.sql).
living AS (
  SELECT q.id, q.lock_instance, q.lock_time,
         CASE WHEN q.lock_time >= now() - :stale
                THEN 'its lock is younger than ' || :stale || '. A worker may be running the job, and a write would abort its transaction'
              WHEN (q.lock_instance IS NOT NULL OR q.lock_time IS NOT NULL) AND NOT coalesce((:args ->> 'gone')::bool, false)
                THEN 'confirm with gone that ' || coalesce('instance ' || q.lock_instance, 'the instance that locked it') || ' is no longer running. If it is running, it still works on the job'
              WHEN q.lock_time IS NOT NULL AND l.at >= now() - :stale
                THEN 'instance ' || q.lock_instance || ' was active at ' || date_trunc('second', l.at) || ', so it is not gone'
         END AS why
    FROM :"schema".queued_job q
    LEFT JOIN (SELECT s.instance, max(s.at) AS at FROM signs s WHERE isfinite(s.at) GROUP BY s.instance) AS l ON l.instance = q.lock_instance::text
   WHERE q.id = ANY (:job_keys)
)
