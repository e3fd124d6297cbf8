-- Tables whose columns' names look like those of work: by three of the patterns. Only the catalog is read.
-- schema: the only one, or ""
-- args: patterns: of columns, by mark; names: of tables that are known, or are no work, with their schemas; `schema.*`: all
-- Index: pg_attribute_relid_attnum_index.
SELECT f.schema, f.name, f.tuples,
       (SELECT jsonb_agg(jsonb_build_object(
                 'name', a.attname, 'type', coalesce(b.typname, t.typname), 'schema', n.nspname, 'enum', t.typtype = 'e', 'labels', '[]'::jsonb,
                 'required', a.attnotnull, 'default', '-', 'refers', false, 'generated', false, 'checks', '[]'::jsonb) ORDER BY a.attnum)
          FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid LEFT JOIN pg_type b ON b.oid = t.typbasetype
          JOIN pg_namespace n ON n.oid = coalesce(b.typnamespace, t.typnamespace)
         WHERE a.attrelid = f.oid AND a.attnum > 0 AND NOT a.attisdropped) AS columns
  FROM (SELECT c.oid, n.nspname::text AS schema, c.relname::text AS name, greatest(c.reltuples, 0)::int8 AS tuples,
               (SELECT count(DISTINCT p.key)
                  FROM pg_attribute a JOIN jsonb_each_text(:args::text::jsonb -> 'patterns') AS p ON a.attname ~* p.value
                 WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped) AS marks
          FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
         WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relnatts BETWEEN 4 AND 200
           AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'unstick') AND n.nspname NOT LIKE 'pg\_t%'
           AND :schema IN ('', n.nspname) AND has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT')
           AND NOT (:args::text::jsonb -> 'names') ?| ARRAY[n.nspname || '.' || c.relname, n.nspname || '.*']
         ORDER BY c.oid DESC LIMIT 5000) AS f
 WHERE f.marks >= 3
 ORDER BY f.marks DESC, f.schema, f.name
 LIMIT 1000
