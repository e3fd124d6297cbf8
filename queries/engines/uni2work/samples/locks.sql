-- title: Locks seen by unstick
-- Sample the locks of the oldest rows, for findings that compare several samples.
-- For large content, use the stored size instead of a digest, because a digest reads all of it.
-- Index: the start of queued_job_pkey; at most 2,000 rows.
WITH jobs AS (SELECT id, content, lock_instance, lock_time FROM :"schema".queued_job ORDER BY id LIMIT 2000),
\ir ../parts/kinds.sql
SELECT 'job:' || q.id AS id, jsonb_build_object('lock', coalesce(q.lock_instance || ' ' || q.lock_time, ''),
                                               'content', CASE WHEN pg_column_size(q.content) < 2000 THEN md5(q.content::text) ELSE pg_column_size(q.content)::text END,
                                               'job_kind', CASE WHEN pg_column_size(q.content) < 2000 THEN q.kind ELSE 'large content' END) AS seen
  FROM kinds q
