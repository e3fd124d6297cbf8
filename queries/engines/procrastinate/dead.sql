-- Failed jobs, those that were deferred last before the others. The engine does not run them again by itself.
-- needs: failed
-- needs of ids: none
-- Indexes: one on (id) of failed jobs, procrastinate_jobs_pkey, procrastinate_events_job_id_fkey_v1.
SELECT 'job:' || j.id AS id, j.id::text AS cursor, 5::int8 AS severity, extract(epoch FROM e.created)::float8 AS since,
       j.task_name::text AS cause, NULL::text AS error, NULL::text AS was, NULL::text AS is_now
  FROM ((SELECT * FROM :"schema".procrastinate_jobs j
          WHERE :ids IS NULL AND j.status = 'failed' AND j.id < coalesce(:cursor::text::int8, 9223372036854775807)
          ORDER BY j.id DESC LIMIT :limit)
        UNION ALL
        (SELECT * FROM :"schema".procrastinate_jobs j
          WHERE j.status = 'failed' AND j.id < coalesce(:cursor::text::int8, 9223372036854775807)
            AND j.id = ANY (:job_keys)
          ORDER BY j.id DESC LIMIT :limit)) AS j
  CROSS JOIN LATERAL ( -- a range in the order of the index: for job_id = j.id it may scan the table for 100 rows
    SELECT min(v.at) FILTER (WHERE v.type = 'deferred') AS created
      FROM (SELECT x.type, x.at FROM :"schema".procrastinate_events x
             WHERE x.job_id >= j.id AND x.job_id <= j.id ORDER BY x.job_id LIMIT 100) AS v
  ) AS e
 ORDER BY j.id DESC
 LIMIT :limit
