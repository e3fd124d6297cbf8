-- Images of one entry, what the server recorded of the entry, and whether entry and images still have their hashes.
-- id: the entry
-- Indexes: audit_log_pkey, audit_images_pkey.
WITH
\ir parts/entries.sql
SELECT l.role, l.engine, l.schema, coalesce(l.arguments ->> 'other_rows', '') AS others, i.images::text AS images,
       coalesce(l.images_digest = encode(sha256(convert_to(i.images::text, 'UTF8')), 'hex') AND l.digest = l.hash, false) AS intact
  FROM unstick.audit_images i JOIN entries l ON l.id = i.entry
 WHERE i.entry = :id::text::bigint
