-- Entries of one run, newest first, without their rows before and after.
-- id: the run
-- cursor: the last id of the previous page, or NULL
-- Index: audit_log_run_idx backwards.
SELECT l.id::text AS id, extract(epoch FROM l.at)::float8 AS at, l.role, l.xid::text AS xid, l.os_user, l.host,
       l.engine, l.schema, l.action, l.reason, l.arguments::text AS arguments, l.results::text AS results
  FROM unstick.audit_log l
 WHERE l.arguments ? 'run' AND l.arguments #>> '{run,id}' = :id
   AND (:cursor IS NULL OR l.id < :cursor::text::bigint)
 ORDER BY l.id DESC
 LIMIT :limit
