-- These jobs. A `lost` one may be released: no worker is connected that began before the job was locked, or it is locked for long.
jobs AS (
  WITH \ir sessions.sql
  SELECT j.id, j.job_queue_id, j.attempts, j.max_attempts, j.locked_at, j.locked_by, j.xmin::text AS version, s.oldest, s.text AS workers,
         j.locked_at < s.oldest AND j.locked_at < now() - :worker_lost OR j.locked_at < now() - :locked_too_long AS lost
    FROM :"schema"._private_jobs j
   CROSS JOIN sessions s
   WHERE j.id = ANY (:job_keys)
)
