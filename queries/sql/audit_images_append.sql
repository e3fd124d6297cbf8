-- Write one entry and the images of its rows, in the transaction of the action.
-- args: the entry
-- changes: the rows before and after; they are most of the entry, and are not parsed here
-- images: the images
-- One statement, so that the entry is hashed once, together with the hash of its images.
WITH entry AS (
  INSERT INTO unstick.audit_log (os_user, host, application, engine, schema, action, reason, arguments, results, changes, images_digest)
  SELECT e ->> 'os_user', e ->> 'host', e ->> 'application', e ->> 'engine', e ->> 'schema', e ->> 'action', e ->> 'reason',
         e -> 'arguments', e -> 'results', :changes::text::json, encode(sha256(convert_to(:images::text, 'UTF8')), 'hex')
    FROM (SELECT :args::text::jsonb OFFSET 0) AS given(e) -- OFFSET 0: parsed once, not once per column
  RETURNING id
)
INSERT INTO unstick.audit_images (entry, images)
SELECT e.id, :images::text::json FROM entry e
