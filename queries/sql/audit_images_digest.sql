-- For {images} of audit_images_kept.sql and audit_log_verify.sql: the digest of the images of an entry `l`.
-- Index: audit_images_pkey.
SELECT encode(sha256(convert_to(i.images::text, 'UTF8')), 'hex') FROM unstick.audit_images i WHERE i.entry = l.id
