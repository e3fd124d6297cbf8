-- Failed jobs that are held, newest first.
-- needs: failed
-- needs of ids: none
-- cursor: updated|id of the last row of the previous page, or NULL
-- Indexes: one on (updated, id) of failed jobs, pgqueuer_pkey, pgqueuer_log_job_id_status.
WITH c AS MATERIALIZED (
  SELECT coalesce(split_part(:cursor, '|', 1)::timestamptz, 'infinity') AS updated, coalesce(split_part(:cursor, '|', 2)::int8, 9223372036854775807) AS id
)
SELECT 'job:' || j.id AS id, j.updated || '|' || j.id AS cursor, 5::int8 AS severity, extract(epoch FROM j.updated)::float8 AS since,
       j.entrypoint AS cause, e.error, NULL::text AS was, NULL::text AS is_now
  FROM ((SELECT o.id, o.updated, o.entrypoint FROM :"schema".:"pgqueuer" o
          WHERE :ids IS NULL AND o.status = 'failed' AND (o.updated, o.id) < ((SELECT c.updated FROM c), (SELECT c.id FROM c))
          ORDER BY o.updated DESC, o.id DESC LIMIT :limit)
        UNION ALL
        (SELECT o.id, o.updated, o.entrypoint FROM :"schema".:"pgqueuer" o
          WHERE o.status = 'failed' AND (o.updated, o.id) < ((SELECT c.updated FROM c), (SELECT c.id FROM c))
            AND o.id = ANY (:job_keys)
          ORDER BY o.updated DESC, o.id DESC LIMIT :limit)) AS j
 CROSS JOIN LATERAL ( -- the exception in the newest of its log entries, if that has one
   SELECT max((l.traceback ->> 'exception_type') || ': ' || (l.traceback ->> 'exception_message')) AS error
     FROM (SELECT x.traceback FROM :"schema".:"pgqueuer_log" x
            WHERE x.job_id >= j.id AND x.job_id <= j.id ORDER BY x.job_id, x.created DESC LIMIT 1) AS l
 ) AS e
 ORDER BY j.updated DESC, j.id DESC
 LIMIT :limit
