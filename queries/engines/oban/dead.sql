-- Discarded jobs, newest first. Python's errors are tracebacks that end with the message, Elixir's begin with it.
-- needs: discarded
-- cursor: discarded_at|id of the last row of the previous page, or NULL
-- Index: one on oban_jobs(discarded_at) of discarded jobs, or on oban_jobs(state, discarded_at).
SELECT 'job:' || j.id AS id, j.discarded_at || '|' || j.id AS cursor,
       CASE WHEN j.discarded_at > timezone('UTC', now()) - :failed_lately THEN 5 ELSE 3 END::int8 AS severity,
       extract(epoch FROM j.discarded_at)::float8 AS since, j.worker AS cause,
       left((SELECT CASE WHEN e.text LIKE 'Traceback%' THEN regexp_replace(rtrim(e.text, E' \n'), '^.*\n', '') ELSE e.text END
               FROM (SELECT coalesce(to_jsonb(j.errors) -> -1 ->> 'error', CASE WHEN jsonb_typeof(to_jsonb(j.errors) -> -1) = 'string' THEN to_jsonb(j.errors) ->> -1 END) AS text) AS e), 300) AS error,
       NULL::text AS was, NULL::text AS is_now
  FROM :"schema".oban_jobs j
 WHERE j.state = 'discarded' AND j.discarded_at IS NOT NULL
   AND (:ids IS NULL OR j.id = ANY (:job_keys))
   AND (:cursor IS NULL OR j.discarded_at <= split_part(:cursor, '|', 1)::timestamp
        AND (j.discarded_at, j.id) < (split_part(:cursor, '|', 1)::timestamp, split_part(:cursor, '|', 2)::int8))
 ORDER BY j.discarded_at DESC, j.id DESC
 LIMIT :limit
