-- Existence of the audit log, and the right of this role to write and read it. It is found by name in the catalog,
-- because to_regclass fails for a role without USAGE on the schema.
-- Indexes: pg_namespace_nspname_index, pg_class_relname_nsp_index.
SELECT l.oid IS NOT NULL AS exists,
       l.oid IS NOT NULL AND has_schema_privilege(l.relnamespace, 'USAGE') AND has_any_column_privilege(l.oid, 'INSERT') AS writable,
       l.oid IS NOT NULL AND has_schema_privilege(l.relnamespace, 'USAGE') AND has_table_privilege(l.oid, 'SELECT') AS readable
  FROM (SELECT) AS always
  LEFT JOIN (SELECT c.oid, c.relnamespace FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
              WHERE n.nspname = 'unstick' AND c.relname = 'audit_log') AS l ON true
