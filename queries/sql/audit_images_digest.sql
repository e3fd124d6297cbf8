-- The digest of the images of an entry `l`.
-- Index: audit_images_pkey.
SELECT encode(sha256(convert_to(i.images::text, 'UTF8')), 'hex') FROM unstick.audit_images i WHERE i.entry = l.id
