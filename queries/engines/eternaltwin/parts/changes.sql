-- Polls of the tasks in `polled`, which the including file has, at most 5,000, and new jobs (ticks.sql).
changes AS (
  (SELECT 'task:' || p.task_id AS id, extract(epoch FROM (p.polled_at).time)::float8 AS at, 'polled' AS what, NULL::text AS old,
          p.status::text AS new, 'poll' AS part, (polled_at).time || '|' || (polled_at).salt || '|' || task_id AS place,
          true AS routine
     FROM polled p CROSS JOIN ticks c
    WHERE c.task IS NULL OR p.polled_at < c.high OR p.task_id < c.task
    ORDER BY p.polled_at DESC, p.task_id DESC
    LIMIT :limit)
  UNION ALL
  (SELECT 'job:' || j.job_id, extract(epoch FROM j.created_at)::float8, 'created', NULL, NULL, 'job', j.created_at || '|' || j.job_id, false
     FROM (SELECT j.job_id, j.created_at FROM :"schema".job j
            WHERE 'job_by_created' = ANY (:met_needs) AND j.created_at >= to_timestamp(:since)
              AND j.created_at <= (SELECT c.created FROM ticks c) AND (j.created_at, j.job_id) < (SELECT c.created, c.job FROM ticks c)
            ORDER BY j.created_at DESC, j.job_id DESC LIMIT :limit) AS j
    ORDER BY j.created_at DESC, j.job_id DESC)
  UNION ALL
  SELECT NULL, NULL, 'new jobs are not searched: no index starts with job.created_at', NULL, NULL, NULL, NULL, NULL
   WHERE NOT 'job_by_created' = ANY (:met_needs)
  UNION ALL
  SELECT NULL, NULL, 'of the tasks of one tick, only 5,000 are searched, and no earlier tick', NULL, NULL, NULL, NULL, NULL
   WHERE (SELECT count(*) = 5000 AND min((p.polled_at).time) = max((p.polled_at).time) FROM polled p)
)
