-- Enum labels, fields of composite types, and functions with the types of their arguments and this role's EXECUTE right,
-- for these names in every schema.
-- query: names of types and functions; args: like: patterns of further enum types, of which the first 200 by name
-- Indexes: pg_type_typname_nsp_index, pg_proc_proname_args_nsp_index.
WITH enums AS MATERIALIZED (
  SELECT t.oid FROM pg_type t WHERE t.typname = ANY (:query::text[]) AND t.typtype = 'e'
  UNION
  (SELECT t.oid FROM pg_type t
    WHERE :args::text::jsonb -> 'like' <> '[]' AND t.typtype = 'e'
      AND t.typname LIKE ANY (ARRAY(SELECT jsonb_array_elements_text(:args::text::jsonb -> 'like')))
    ORDER BY t.typname
    LIMIT 200)
)
SELECT n.nspname::text AS schema, t.typname::text AS name, 'enum' AS sort, true AS usable,
       (SELECT array_agg(e.enumlabel::text ORDER BY e.enumsortorder) FROM pg_enum e WHERE e.enumtypid = t.oid) AS parts
  FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace
 WHERE t.oid IN (TABLE enums)
UNION ALL
SELECT n.nspname::text, t.typname::text, 'composite', true,
       (SELECT array_agg(a.attname::text ORDER BY a.attnum) FROM pg_attribute a
         WHERE a.attrelid = t.typrelid AND a.attnum > 0 AND NOT a.attisdropped)
  FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace JOIN pg_class c ON c.oid = t.typrelid
 WHERE t.typname = ANY (:query::text[]) AND t.typtype = 'c' AND c.relkind = 'c'
UNION ALL
SELECT n.nspname::text, p.proname || '(' || array_to_string(a.types, ', ') || ')', 'function', has_function_privilege(p.oid, 'EXECUTE'), a.types
  FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
 CROSS JOIN LATERAL (
         -- The base type, as for columns, because a domain may have any name.
         SELECT ARRAY(SELECT coalesce(b.typname, y.typname)::text
                        FROM unnest(p.proargtypes) WITH ORDINALITY AS g(oid, ord)
                        JOIN pg_type y ON y.oid = g.oid LEFT JOIN pg_type b ON b.oid = nullif(y.typbasetype, 0)
                       ORDER BY g.ord) AS types) AS a
 WHERE p.proname = ANY (:query::text[])
