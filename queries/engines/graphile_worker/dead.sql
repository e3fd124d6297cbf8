-- Jobs that failed as often as they may, the newest ids first: when they failed is not recorded.
-- needs: failed
-- needs of ids: none
-- Indexes: one on (id) of failed jobs, jobs_pkey1, tasks_pkey.
SELECT 'job:' || j.id AS id, j.id::text AS cursor, 5::int8 AS severity, NULL::float8 AS since, k.identifier AS cause, j.last_error AS error,
       NULL::text AS was, NULL::text AS is_now
  FROM ((SELECT o.id, o.task_id, o.last_error FROM :"schema"._private_jobs o
          WHERE :ids IS NULL AND o.attempts >= o.max_attempts AND o.locked_at IS NULL AND o.id < coalesce(:cursor::text::int8, 9223372036854775807)
          ORDER BY o.id DESC LIMIT :limit)
        UNION ALL
        (SELECT o.id, o.task_id, o.last_error FROM :"schema"._private_jobs o
          WHERE o.attempts >= o.max_attempts AND o.locked_at IS NULL AND o.id < coalesce(:cursor::text::int8, 9223372036854775807)
            AND o.id = ANY (:job_keys)
          ORDER BY o.id DESC LIMIT :limit)) AS j
  LEFT JOIN LATERAL (SELECT i.identifier FROM :"schema"._private_tasks i WHERE i.id = j.task_id LIMIT 1) AS k ON true
 ORDER BY j.id DESC
 LIMIT :limit
