-- Jobs by id.
-- Index: oban_jobs_pkey.
SELECT 'job:' || j.id AS id, 'queue:' || j.queue AS parent_id, 'job' AS kind, j.worker AS title,
       j.state::text AS status, -- a state of a newer release may have the word of a producer's status
       CASE WHEN j.state::text NOT IN ('available', 'scheduled', 'executing', 'retryable', 'suspended', 'completed', 'discarded', 'cancelled') THEN 'unknown' END AS phase,
       extract(epoch FROM j.inserted_at)::float8 AS created_at,
       extract(epoch FROM greatest(j.attempted_at, j.completed_at, j.discarded_at, j.cancelled_at, j.inserted_at))::float8 AS changed_at,
       extract(epoch FROM CASE WHEN j.state::text IN ('available', 'scheduled', 'retryable') THEN j.scheduled_at END)::float8 AS due_at,
       CASE WHEN j.state = 'executing' THEN coalesce(j.attempted_by[2], j.attempted_by[1]) END AS owner,
       j.attempt::int8 AS attempts, j.max_attempts::int8 AS max_attempts,
       -- Python's errors are tracebacks that end with the message, Elixir's begin with it.
       left((SELECT CASE WHEN e.text LIKE 'Traceback%' THEN regexp_replace(rtrim(e.text, E' \n'), '^.*\n', '') ELSE e.text END
               FROM (SELECT coalesce(to_jsonb(j.errors) -> -1 ->> 'error', CASE WHEN jsonb_typeof(to_jsonb(j.errors) -> -1) = 'string' THEN to_jsonb(j.errors) ->> -1 END) AS text) AS e), 300)
         AS error,
       j.xmin::text AS version, extract(epoch FROM now())::float8 AS now, j.ctid::text AS place
  FROM :"schema".oban_jobs j
 WHERE j.id = ANY (:job_keys)
