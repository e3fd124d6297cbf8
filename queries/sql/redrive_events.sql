-- The entries of a redrive after its first one, oldest first, and whether each still has its hash.
-- id: the redrive, which is the id of its first entry
-- Index: audit_log_redrive_idx.
SELECT extract(epoch FROM l.at)::float8 AS at, l.action, l.arguments ->> 'redrive' AS redrive, l.results::text AS results,
       coalesce(l.digest =
\ir parts/audit_log_digest.sql
       , false) AS intact
  FROM unstick.audit_log l
 WHERE l.arguments ? 'redrive' AND l.arguments #>> '{redrive,run}' = :id
 ORDER BY l.id
