-- Discarded jobs, newest first.
-- needs: discarded
-- cursor: discarded_at|id of the last row of the previous page, or NULL
-- Index: one on oban_jobs(discarded_at) of discarded jobs.
WITH
\ir parts/dead.sql
SELECT 'job:' || d.id AS id, d.discarded_at || '|' || d.id AS cursor, d.severity, extract(epoch FROM d.discarded_at)::float8 AS since,
       d.worker AS cause, d.error, NULL::text AS was, NULL::text AS is_now
  FROM dead d
 ORDER BY d.discarded_at DESC, d.id DESC
 LIMIT :limit
