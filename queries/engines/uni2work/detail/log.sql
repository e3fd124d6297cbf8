-- title: Where to find errors (application log)
-- kinds: job
-- Index: queued_job_pkey.
SELECT coalesce(q.lock_instance, q.creation_instance)::text AS "read the log of instance",
       CASE WHEN isfinite(coalesce(q.lock_time, q.creation_time)) THEN (date_trunc('second', coalesce(q.lock_time, q.creation_time)) - interval '1 minute')::text END AS "from",
       'grep -F ' || substring(coalesce(q.lock_instance, q.creation_instance)::text FROM '^[A-Za-z0-9_.-]+$') AS "search for"
  FROM :"schema".queued_job q
 WHERE q.id = substr(:id, 5)::int8
