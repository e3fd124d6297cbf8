-- Discarded jobs, newest first.
-- needs: by_discarded
-- cursor: discarded_at|id of the last row of the previous page, or NULL
-- Index: one on oban_jobs(state, discarded_at).
WITH
\ir parts/dead.sql
SELECT d.id, d.cursor, d.severity, d.since, d.cause, d.error, d.was, d.is_now
  FROM dead d
 ORDER BY d.discarded_at DESC, d.number DESC
 LIMIT :limit
