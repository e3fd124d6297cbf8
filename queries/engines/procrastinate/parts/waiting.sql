-- Number `n` of due jobs, up to 1,000, that wait for the lock of the job j.
  CROSS JOIN LATERAL (
    SELECT count(*) AS n,
           CASE WHEN j.lock IS NULL THEN 'none: the job has no lock' WHEN NOT 'todo_by_lock' = ANY (:met_needs) THEN 'not known without an index'
                WHEN count(*) = 1 THEN '1 job' WHEN count(*) = 1000 THEN '1,000 or more jobs' ELSE count(*) || ' jobs' END AS text
      FROM (SELECT FROM :"schema".procrastinate_jobs t
             WHERE 'todo_by_lock' = ANY (:met_needs) AND t.status = 'todo' AND t.lock = j.lock AND t.id <> j.id
               AND (t.scheduled_at IS NULL OR t.scheduled_at <= now()) LIMIT 1000) AS o
  ) AS n
