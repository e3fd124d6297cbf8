-- Existence of the audit log, the right of this role to write and read it, whether its entries have hashes, the right to
-- write and read images, whether an index finds the entries of a run, whether policies hide entries or images from it, and whether it
-- may create them. The tables are found by name in the catalog, because to_regclass fails for a role without USAGE on the schema.
-- Indexes: pg_namespace_nspname_index, pg_class_relname_nsp_index, pg_attribute_relid_attnam_index.
SELECT l.oid IS NOT NULL AS exists,
       l.oid IS NOT NULL AND has_schema_privilege(l.relnamespace, 'USAGE') AND has_any_column_privilege(l.oid, 'INSERT') AS writable,
       l.oid IS NOT NULL AND has_schema_privilege(l.relnamespace, 'USAGE') AND has_table_privilege(l.oid, 'SELECT') AS readable,
       EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = l.oid AND a.attname = 'digest' AND NOT a.attisdropped) AS hashed,
       EXISTS (SELECT FROM pg_class i
                WHERE i.relnamespace = l.relnamespace AND i.relname = 'audit_images' AND has_schema_privilege(l.relnamespace, 'USAGE')
                  AND has_any_column_privilege(i.oid, 'INSERT') AND has_table_privilege(i.oid, 'SELECT')) AS images,
       EXISTS (SELECT FROM pg_class x WHERE x.relnamespace = l.relnamespace AND x.relname = 'audit_log_run_idx') AS runs,
       coalesce(row_security_active(l.oid), false)
         OR EXISTS (SELECT FROM pg_class i WHERE i.relnamespace = l.relnamespace AND i.relname = 'audit_images' AND row_security_active(i.oid)) AS policies,
       has_database_privilege(current_database(), 'CREATE') AND NOT pg_is_in_recovery() AS creatable
  FROM (SELECT) AS always
  LEFT JOIN (SELECT c.oid, c.relnamespace FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
              WHERE n.nspname = 'unstick' AND c.relname = 'audit_log') AS l ON true
