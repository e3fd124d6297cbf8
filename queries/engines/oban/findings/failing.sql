-- Discarded jobs, newest first. Python's errors are tracebacks that end with the message, Elixir's begin with it.
-- needs: discarded
-- Index: one on oban_jobs(discarded_at) of discarded jobs, or on oban_jobs(state, discarded_at).
SELECT 'job:' || j.id AS id, extract(epoch FROM j.discarded_at)::float8 AS since,
       jsonb_build_object('worker', j.worker, 'discarded', date_trunc('second', j.discarded_at)::text, 'attempts', j.attempt, 'error', coalesce(
       left((SELECT CASE WHEN e.text LIKE 'Traceback%' THEN regexp_replace(rtrim(e.text, E' \n'), '^.*\n', '') ELSE e.text END
               FROM (SELECT coalesce(to_jsonb(j.errors) -> -1 ->> 'error', CASE WHEN jsonb_typeof(to_jsonb(j.errors) -> -1) = 'string' THEN to_jsonb(j.errors) ->> -1 END) AS text) AS e), 300)
         , 'no error is recorded')) AS evidence,
       CASE WHEN j.discarded_at > timezone('UTC', now()) - :failed_lately THEN 5 ELSE 3 END::int8 AS severity
  FROM :"schema".oban_jobs j
 WHERE j.state = 'discarded' AND j.discarded_at IS NOT NULL
   AND (:ids IS NULL OR j.id = ANY (:job_keys))
 ORDER BY j.discarded_at DESC, j.id DESC
 LIMIT :limit
