-- title: Locks seen by this console
-- kinds: job
-- One look at the locks of the oldest rows, for findings that need several looks.
-- Of a large content the size as it is stored stands for a digest, which would have to read all of it.
-- Index: queued_job_pkey from its beginning; 2,000 rows at most.
SELECT 'job:' || q.id AS id, jsonb_build_object('lock', coalesce(q.lock_instance || ' ' || q.lock_time, ''),
                                               'content', CASE WHEN pg_column_size(q.content) < 2000 THEN md5(q.content::text) ELSE pg_column_size(q.content)::text END) AS seen
  FROM (SELECT id, content, lock_instance, lock_time FROM :"schema".queued_job ORDER BY id LIMIT 2000) AS q
