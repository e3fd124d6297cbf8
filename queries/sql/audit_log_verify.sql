-- Entries in the order of their ids, each with its recorded hash and the hash of its present content.
-- Its content is read, too, but no rows of more than 64 kB.
-- cursor: the last id of the previous page, or NULL
-- Index: audit_log_pkey.
SELECT l.id::text AS id, extract(epoch FROM l.at)::float8 AS at, l.xid::text AS xid, l.seen::text AS seen, l.previous, l.images_digest, l.digest AS recorded,
       l.arguments::text AS arguments, l.results::text AS results,
       CASE WHEN octet_length(l.changes::text) <= 65536 THEN l.changes::text ELSE '[]' END AS changes,
\ir parts/audit_log_digest.sql
       AS digest
  FROM unstick.audit_log l
 WHERE :cursor IS NULL OR l.id > :cursor::text::bigint
 ORDER BY l.id
 LIMIT :limit
