-- title: Errors are in the application's log only
-- kinds: job
-- $1 id text: local id
-- Index: queued_job_pkey.
SELECT coalesce(q.lock_instance, q.creation_instance)::text AS "instance whose log to read",
       CASE WHEN isfinite(coalesce(q.lock_time, q.creation_time)) THEN (date_trunc('second', coalesce(q.lock_time, q.creation_time)) - interval '1 minute')::text END AS "from",
       'grep -F ' || substring(coalesce(q.lock_instance, q.creation_instance)::text FROM '^[A-Za-z0-9_.-]+$') AS "to look for"
  FROM :"schema".queued_job q
 WHERE q.id = substr($1::text, 5)::int8
