-- Entries of one run, newest first, without their rows before and after.
-- id: the run
-- cursor: the last id of the previous page, or NULL
-- Index: audit_log_run_idx backwards.
SELECT
\ir parts/audit_log_columns.sql
     , l.results::text AS results
  FROM unstick.audit_log l
 WHERE l.arguments ? 'run' AND l.arguments #>> '{run,id}' = :id
   AND (:cursor IS NULL OR l.id < :cursor::text::bigint)
 ORDER BY l.id DESC
 LIMIT :limit
