-- The entries of a run after its first one, oldest first, and whether each still has its hash.
-- id: the run, which is the id of its first entry
-- Index: audit_log_run_idx.
WITH
\ir parts/entries.sql
SELECT l.id::text AS id, extract(epoch FROM l.at)::float8 AS at, l.role, l.xid::text AS xid, l.os_user, l.host,
       l.engine, l.schema, l.action, l.reason, l.arguments::text AS arguments, l.results::text AS results, coalesce(l.digest = l.hash, false) AS intact
  FROM entries l
 WHERE l.arguments ? 'run' AND l.arguments #>> '{run,id}' = :id
 ORDER BY l.id
