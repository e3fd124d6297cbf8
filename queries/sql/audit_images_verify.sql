-- Hashes of the images of entries.
-- ids: the entries
-- Index: audit_images_pkey.
SELECT i.entry::text AS id, encode(sha256(convert_to(i.images::text, 'UTF8')), 'hex') AS digest
  FROM unstick.audit_images i
 WHERE i.entry = ANY (:ids::text[]::bigint[])
