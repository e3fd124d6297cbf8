-- The entries of a run after its first one, oldest first, and whether each still has its hash.
-- id: the run, which is the id of its first entry
-- Index: audit_log_run_idx.
SELECT
\ir parts/audit_log_columns.sql
     , l.results::text AS results, coalesce(l.digest =
\ir parts/audit_log_digest.sql
       , false) AS intact
  FROM unstick.audit_log l
 WHERE l.arguments ? 'run' AND l.arguments #>> '{run,id}' = :id
 ORDER BY l.id
