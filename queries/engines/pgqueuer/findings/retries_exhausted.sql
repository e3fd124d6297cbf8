-- Jobs that failed lately and are held, among the newest 1,000 of them, or among the newest 5,000 jobs.
-- Indexes: one on (updated, id) of failed jobs, if it exists; pgqueuer_pkey, pgqueuer_log_job_id_status.
WITH newest AS MATERIALIZED (
  SELECT o.id, o.updated, o.entrypoint, o.status FROM :"schema".:"pgqueuer" o
   WHERE :ids IS NULL AND NOT 'failed' = ANY (:met_needs) ORDER BY o.id DESC LIMIT 5000
), failed AS MATERIALIZED (
  (SELECT o.id, o.updated, o.entrypoint FROM :"schema".:"pgqueuer" o 
    WHERE :ids IS NULL AND 'failed' = ANY (:met_needs) AND o.status = 'failed' ORDER BY o.updated DESC LIMIT 1000)
  UNION ALL
  SELECT n.id, n.updated, n.entrypoint FROM newest n WHERE n.status = 'failed'
  UNION ALL
  SELECT o.id, o.updated, o.entrypoint FROM :"schema".:"pgqueuer" o
   WHERE o.status = 'failed' AND o.id = ANY (:job_keys)
)
(SELECT 'job:' || j.id AS id, extract(epoch FROM j.updated)::float8 AS since,
        jsonb_build_object('entrypoint', j.entrypoint, 'failed_at', date_trunc('second', j.updated)::text,
                           'error', coalesce(left(e.error, 300), 'no exception is logged')) AS evidence
   FROM failed j
  CROSS JOIN LATERAL ( -- the exception in the newest of its log entries, if that has one
    SELECT max((l.traceback ->> 'exception_type') || ': ' || (l.traceback ->> 'exception_message')) AS error
      FROM (SELECT x.traceback FROM :"schema".:"pgqueuer_log" x
             WHERE x.job_id >= j.id AND x.job_id <= j.id ORDER BY x.job_id, x.created DESC LIMIT 1) AS l
  ) AS e
  WHERE j.updated > now() - :failed_lately
  ORDER BY j.updated DESC, j.id
  LIMIT :limit)
UNION ALL
SELECT NULL, NULL, NULL WHERE (SELECT count(*) FROM failed) = 1000 OR (SELECT count(*) FROM newest) = 5000
