-- Jobs that ended long after their creation: a job of a new queue has the job id of an old row and completed that row.
-- needs: jobs_scan
SELECT 'job:' || j.id AS id, extract(epoch FROM j.completed_at)::float8 AS since,
       jsonb_build_object('job_id', j.job_id, 'created_at', date_trunc('second', j.created_at)::text,
                          'completed_at', date_trunc('second', j.completed_at)::text) AS evidence
  FROM :"schema".jobs j
 WHERE isfinite(j.created_at) AND isfinite(j.completed_at)
   AND j.completed_at - j.created_at > :completed_by_wrong_job
   AND (:ids IS NULL OR 'job:' || j.id = ANY (:ids))
 ORDER BY j.completed_at DESC, j.id
 LIMIT :limit
