-- The entries of a redrive after its first one, oldest first.
-- id: the redrive, which is the id of its first entry
-- Index: audit_log_redrive_idx.
SELECT extract(epoch FROM l.at)::float8 AS at, l.action, l.arguments ->> 'redrive' AS redrive, l.results::text AS results
  FROM unstick.audit_log l
 WHERE l.arguments ? 'redrive' AND l.arguments #>> '{redrive,run}' = :id
 ORDER BY l.id
