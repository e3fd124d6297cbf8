-- The entry that this transaction has written, and its images, as the audit log keeps them.
-- {images}: audit_images_digest.sql; NULL without images
-- hashed: the entry has its hash.
-- Indexes: audit_log_pkey backwards; reads 1,000 entries; audit_images_pkey.
\ir parts/audit_log_same.sql
     , coalesce(l.digest =
\ir parts/audit_log_digest.sql
       , false) AS hashed, l.images_digest,
       {images} AS images
  FROM (SELECT * FROM unstick.audit_log ORDER BY id DESC LIMIT 1000) AS l
 CROSS JOIN (SELECT :args::text::jsonb OFFSET 0) AS given(e)
 WHERE l.xid = pg_current_xact_id()
 ORDER BY l.id DESC
 LIMIT 1
