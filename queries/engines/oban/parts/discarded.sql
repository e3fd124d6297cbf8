SELECT 'job:' || j.id AS id, extract(epoch FROM j.discarded_at)::float8 AS since,
       jsonb_build_object('worker', j.worker, 'discarded', date_trunc('second', j.discarded_at)::text, 'attempts', j.attempt, 'error', coalesce(
\ir error.sql
         , 'no error is recorded')) AS evidence,
       CASE WHEN j.discarded_at > timezone('UTC', now()) - :failed_lately THEN 5 ELSE 3 END::int8 AS severity
  FROM :"schema".oban_jobs j
 WHERE j.state = 'discarded' AND j.discarded_at IS NOT NULL
   AND (:ids IS NULL OR j.id = ANY (:job_keys))
 ORDER BY j.discarded_at DESC, j.id DESC
 LIMIT :limit
