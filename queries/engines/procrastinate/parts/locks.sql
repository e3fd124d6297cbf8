-- Of the locks of a small table, which may lack an index on them: their first job to do and the number of due ones, as
-- objects by lock. One row. With ids, only the locks of these jobs.
locks AS MATERIALIZED (
  SELECT jsonb_object_agg(o.lock, o.first) AS first, jsonb_object_agg(o.lock, o.due) AS due
    FROM (SELECT t.lock, (array_agg(t.id ORDER BY t.priority DESC, t.id))[1] AS first,
                 count(*) FILTER (WHERE t.scheduled_at IS NULL OR t.scheduled_at <= now()) AS due
            FROM :"schema".procrastinate_jobs t
           WHERE 'jobs_scan' = ANY (:met_needs) AND t.status = 'todo' AND t.lock IS NOT NULL
             AND (:ids IS NULL OR t.lock IN (SELECT a.lock FROM :"schema".procrastinate_jobs a WHERE a.id = ANY (:job_keys)))
           GROUP BY t.lock) AS o
)
