-- Part of copies_logged.sql: an entry and the images of its rows.
-- args: the entry
\set changes changed
entry AS (
  INSERT INTO unstick.audit_log (os_user, host, application, engine, schema, action, reason, arguments, results, changes, images_digest)
  SELECT
\ir parts/audit_log_fields.sql
       , encode(sha256(convert_to(imaged, 'UTF8')), 'hex')
    FROM logged CROSS JOIN (SELECT :args::text::jsonb OFFSET 0) AS given(e) -- OFFSET 0: parsed once, not once per column
   WHERE regular
  RETURNING id
),
written AS (
  INSERT INTO unstick.audit_images (entry, images) SELECT e.id, l.imaged::json FROM entry e CROSS JOIN logged l
  RETURNING entry::text AS entry
)
