-- Statements that give one column of all rows of a table one value, 0 or NULL. Statuses stay where a constraint keeps them.
-- Keys and columns of unique indexes and foreign keys stay.
-- ids: names of the tables
SELECT format('UPDATE %I.%I SET %I = %s', n.nspname, c.relname, a.attname, v.value) AS change, c.relname || '.' || a.attname AS name,
       v.value
  FROM pg_class c
  JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname = :schema
  JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '' AND a.attidentity = ''
  JOIN pg_type t ON t.oid = a.atttypid
 CROSS JOIN LATERAL unnest(CASE WHEN a.attnotnull THEN '{}'::text[] ELSE ARRAY['NULL'] END
                        || CASE WHEN t.typname IN ('int2', 'int4', 'int8', 'numeric', 'float4', 'float8') THEN '{0}'::text[] ELSE '{}' END) AS v(value)
 WHERE c.relname = ANY (:ids)
   AND NOT EXISTS (SELECT FROM pg_constraint k WHERE k.conrelid = c.oid AND k.contype = 'f' AND a.attnum = ANY (k.conkey))
   AND NOT EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid AND i.indisunique AND a.attnum = ANY (i.indkey::int2[]))
 ORDER BY c.relname, a.attnum, v.value
