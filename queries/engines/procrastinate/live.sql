-- Unfinished jobs, oldest first.
-- needs: unfinished
-- Index: procrastinate_jobs_id_lock_idx_v1.
SELECT 'job:' || j.id AS id, j.id::text AS cursor
  FROM :"schema".procrastinate_jobs j
 WHERE j.status IN ('todo', 'doing') AND j.id > coalesce(:cursor::text::int8, -1)
 ORDER BY j.id
 LIMIT :limit
