-- Images of one entry.
-- id: the entry
-- Index: audit_images_pkey.
SELECT i.images::text AS images FROM unstick.audit_images i WHERE i.entry = :id::text::bigint
