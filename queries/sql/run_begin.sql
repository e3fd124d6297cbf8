-- The first entry of a run, with the list of its nodes, and whether the entry still has its hash.
-- id: the run
-- Indexes: audit_log_pkey, audit_images_pkey.
WITH
\ir parts/entries.sql
SELECT l.id::text AS id, extract(epoch FROM l.at)::float8 AS at, l.role, l.xid::text AS xid, l.os_user, l.host,
       l.engine, l.schema, l.action, l.reason, l.arguments::text AS arguments, i.images::text AS members, coalesce(l.digest = l.hash, false) AS intact
  FROM entries l
  LEFT JOIN unstick.audit_images i ON i.entry = l.id
 WHERE l.id = :id::text::bigint AND l.arguments #>> '{run,event}' = 'begin'
