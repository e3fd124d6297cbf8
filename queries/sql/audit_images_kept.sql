-- The entry that this transaction has written, and its images, as the audit log keeps them.
-- hashed: the entry has its hash. images: digest of the images
-- Indexes: audit_log_pkey backwards; reads 1,000 entries; audit_images_pkey.
\ir parts/audit_log_same.sql
     , coalesce(l.digest =
\ir parts/audit_log_digest.sql
       , false) AS hashed, l.images_digest,
       (SELECT encode(sha256(convert_to(i.images::text, 'UTF8')), 'hex') FROM unstick.audit_images i WHERE i.entry = l.id) AS images
  FROM (SELECT * FROM unstick.audit_log ORDER BY id DESC LIMIT 1000) AS l
 CROSS JOIN (SELECT :args::text::jsonb OFFSET 0) AS given(e)
 WHERE l.xid = pg_current_xact_id()
 ORDER BY l.id DESC
 LIMIT 1
