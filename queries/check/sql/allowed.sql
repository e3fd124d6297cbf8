-- Columns of some tables with an enum type, and those with CHECK constraints on them alone.
-- ids: names of the tables
-- Waits for no row. Indexes: pg_class_relname_nsp_index, pg_constraint_conrelid_contypid_conname_index.
SELECT c.relname::text AS "table", a.attname::text AS "column", t.typname IN ('int2', 'int4', 'int8') AS number,
       ARRAY(SELECT e.enumlabel::text FROM pg_enum e WHERE e.enumtypid = t.oid ORDER BY e.enumsortorder) AS labels,
       ARRAY(SELECT pg_get_constraintdef(k.oid) FROM pg_constraint k
              WHERE k.contype = 'c' AND k.conrelid = c.oid AND k.conkey = ARRAY[a.attnum] ORDER BY k.conname) AS checks
  FROM pg_class c
  JOIN pg_namespace n ON n.oid = c.relnamespace
  JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
  JOIN pg_type t ON t.oid = a.atttypid
 WHERE c.relname = ANY (:ids) AND n.nspname = :schema
   AND (t.typtype = 'e' OR EXISTS (SELECT FROM pg_constraint k WHERE k.contype = 'c' AND k.conrelid = c.oid AND k.conkey = ARRAY[a.attnum]))
 ORDER BY c.relname, a.attnum
