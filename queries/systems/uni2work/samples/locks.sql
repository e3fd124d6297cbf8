-- title: Locks seen by this console
-- kinds: job
-- One look at the locks of the oldest rows, for findings that need several looks.
-- Index: queued_job_pkey from its beginning; 2,000 rows at most.
SELECT 'job:' || q.id AS id, jsonb_build_object('lock', coalesce(q.lock_instance || ' ' || q.lock_time, '')) AS seen
  FROM (SELECT id, lock_instance, lock_time FROM :"schema".queued_job ORDER BY id LIMIT 2000) AS q
