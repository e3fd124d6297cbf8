-- The jobs of `times` (times.sql), each with the number `n` of due jobs, up to 1,000, that wait for its lock, and that are
-- others. Of a small table: from `locks` (locks.sql).
waiting AS (
  SELECT j.*, o.n,
         CASE WHEN j.lock IS NULL THEN 'none: the job has no lock' WHEN NOT 'todo_by_lock' = ANY (:met_needs) THEN 'not known without an index'
              WHEN o.n = 1 THEN '1 job' WHEN o.n = 1000 THEN '1,000 or more jobs' ELSE o.n || ' jobs' END AS waiting
    FROM times j
   CROSS JOIN LATERAL (
         SELECT CASE WHEN 'jobs_scan' = ANY (:met_needs) THEN (SELECT least(coalesce((l.due ->> j.lock)::int8, 0), 1000) FROM locks l)
                     ELSE (SELECT count(*) FROM (SELECT FROM :"schema".procrastinate_jobs t
                                                  WHERE 'todo_by_lock' = ANY (:met_needs) AND t.status = 'todo' AND t.lock = j.lock
                                                    AND (t.scheduled_at IS NULL OR t.scheduled_at <= now()) LIMIT 1000) AS d) END AS n) AS o
)
