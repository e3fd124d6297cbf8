-- Part of copies_logged.sql: an entry without images.
-- args: the entry
\set changes changed
entry AS (
  INSERT INTO unstick.audit_log (os_user, host, application, engine, schema, action, reason, arguments, results, changes)
  SELECT
\ir parts/audit_log_fields.sql
    FROM logged CROSS JOIN (SELECT :args::text::jsonb OFFSET 0) AS given(e) -- OFFSET 0: parsed once, not once per column
   WHERE regular
),
written AS (SELECT NULL AS entry)
