-- Of each of these jobs the `other` one that already waits with its queueing lock, or that comes before it in this action.
-- Only one may wait.
queued AS MATERIALIZED (
  SELECT j.id, coalesce((SELECT t.id FROM :"schema".procrastinate_jobs t
                          WHERE t.status = 'todo' AND t.queueing_lock = j.queueing_lock AND t.id <> j.id LIMIT 1),
                        CASE WHEN j.queueing_lock IS NOT NULL THEN nullif(min(j.id) OVER (PARTITION BY j.queueing_lock), j.id) END) AS other
    FROM :"schema".procrastinate_jobs j
   WHERE j.id = ANY (:job_keys)
)
