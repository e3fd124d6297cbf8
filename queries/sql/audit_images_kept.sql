-- The entry that this transaction has written, and its images, as the audit log keeps them. `same`, `changes`: see audit_log_kept.sql.
-- args: the entry
-- {images}: audit_images_digest.sql; NULL without images
-- hashed: the entry has its hash.
-- Indexes: audit_log_pkey backwards; reads 1,000 entries; audit_images_pkey.
WITH
\ir parts/entries.sql
SELECT l.id::text AS entry,
       (l.role, l.os_user, l.host, l.application, l.engine, l.schema, l.action, l.reason, l.arguments, l.results) IS NOT DISTINCT FROM
       (session_user::text, e ->> 'os_user', e ->> 'host', e ->> 'application', e ->> 'engine', e ->> 'schema', e ->> 'action', e ->> 'reason',
        e -> 'arguments', e -> 'results') AS same,
       CASE WHEN pg_typeof(l.changes) = 'json'::regtype THEN encode(sha256(convert_to(l.changes::text, 'UTF8')), 'hex') END AS changes,
       coalesce(l.digest = l.hash, false) AS hashed, l.images_digest, {images} AS images
  FROM entries l
 CROSS JOIN (SELECT :args::text::jsonb OFFSET 0) AS given(e)
 WHERE l.id = (SELECT max(n.id) FROM (SELECT o.id, o.xid FROM unstick.audit_log o ORDER BY o.id DESC LIMIT 1000) AS n WHERE n.xid = pg_current_xact_id())
