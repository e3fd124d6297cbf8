-- Columns that this role may not read, of the tables named in a statement that was denied, if it may read others of the table.
-- query: the statement
-- Indexes: pg_attribute_relid_attnum_index; pg_class is read once.
SELECT c.relname::text AS relation, string_agg(a.attname, ', ' ORDER BY a.attnum) AS columns
  FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
 WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND position(quote_ident(c.relname) IN :query) > 0
   AND c.relnamespace <> 'pg_catalog'::regnamespace AND a.attnum > 0 AND NOT a.attisdropped
   AND has_any_column_privilege(c.oid, 'SELECT') AND NOT has_column_privilege(c.oid, a.attnum, 'SELECT')
 GROUP BY c.oid, c.relname
 ORDER BY c.relname
 LIMIT 3
