-- Entries of the audit log, each with the `hash` that it should have as its digest: SHA-256 of all of its columns except `digest`.
-- The trigger in audit_log_schema.sql makes it. A new column is appended to the array only if it is not NULL, so that the hashes of
-- older entries stay valid.
entries AS NOT MATERIALIZED (
  SELECT l.*, encode(sha256(convert_to((jsonb_build_array(
      l.id, extract(epoch FROM l.at), l.role, l.xid::text, l.os_user, l.host, l.application, l.engine, l.schema, l.action, l.reason,
      l.arguments, l.results, encode(sha256(convert_to(l.changes::text, 'UTF8')), 'hex'), l.previous, l.seen::text)
      || CASE WHEN l.images_digest IS NULL THEN '[]' ELSE jsonb_build_array(l.images_digest) END)::text, 'UTF8')), 'hex') AS hash
    FROM unstick.audit_log l
)
