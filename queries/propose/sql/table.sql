-- Tables of a name in every schema: columns, key, constraints and triggers, from which an engine is proposed.
-- query: name of the table, also with its schema; each name plain or quoted
-- Tables beside it: those of foreign keys, and up to 8 in all.
-- Waits for no row. pg_get_constraintdef() and pg_get_expr() lock the table for a moment.
-- Indexes: pg_attribute_relid_attnum_index, pg_constraint_conrelid_contypid_conname_index.
WITH RECURSIVE found AS MATERIALIZED (
  SELECT c.oid, c.relname, c.relkind, n.nspname, n.oid AS namespace
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
   WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')
     AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg\_t%'
     AND EXISTS (SELECT FROM unnest(ARRAY[c.relname::text, '"' || replace(c.relname, '"', '""') || '"']) AS r(name)
                   CROSS JOIN unnest(ARRAY[n.nspname::text, '"' || replace(n.nspname, '"', '""') || '"']) AS s(name)
                  WHERE :query IN (r.name, s.name || '.' || r.name))
),
columns AS (
  SELECT a.attrelid, a.attnum, a.attname, a.atttypid, a.attnotnull, a.attidentity, a.attgenerated
    FROM found f JOIN pg_attribute a ON a.attrelid = f.oid AND a.attnum > 0 AND NOT a.attisdropped
),
base AS (
  -- The base type of a domain may be another domain.
  SELECT t.oid AS origin, t.oid, t.typtype, t.typbasetype FROM pg_type t WHERE t.oid IN (SELECT c.atttypid FROM columns c)
  UNION ALL
  SELECT b.origin, t.oid, t.typtype, t.typbasetype FROM base b JOIN pg_type t ON t.oid = b.typbasetype WHERE b.typtype = 'd'
),
beside AS MATERIALIZED (
  -- Other tables of the schema, and those of foreign keys in either direction. Those that begin with the same word come first.
  SELECT f.oid AS of_table, CASE WHEN n.oid = f.namespace THEN c.relname::text ELSE n.nspname || '.' || c.relname END AS name,
         r.columns AS refers, s.refers IS NOT NULL AS referred,
         row_number() OVER (PARTITION BY f.oid ORDER BY r.columns IS NULL AND s.refers IS NULL,
                            split_part(c.relname, '_', 1) <> split_part(f.relname, '_', 1), n.nspname, c.relname) AS place
    FROM found f
    JOIN pg_class c ON c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.oid <> f.oid
    JOIN pg_namespace n ON n.oid = c.relnamespace
    LEFT JOIN LATERAL (SELECT string_agg(DISTINCT a.attname::text, ', ') AS columns
                         FROM pg_constraint k JOIN columns a ON a.attrelid = f.oid AND a.attnum = ANY (k.conkey)
                        WHERE k.contype = 'f' AND k.conrelid = f.oid AND k.confrelid = c.oid) AS r ON true
    LEFT JOIN LATERAL (SELECT true AS refers FROM pg_constraint k
                        WHERE k.contype = 'f' AND k.conrelid = c.oid AND k.confrelid = f.oid LIMIT 1) AS s ON true
   WHERE n.oid = f.namespace OR r.columns IS NOT NULL OR s.refers
)
SELECT f.nspname::text AS schema, f.relname::text AS name, f.relkind::text AS kind,
       has_schema_privilege(f.namespace, 'USAGE') AND has_table_privilege(f.oid, 'SELECT') AS readable,
       row_security_active(f.oid) AS policies,
       (SELECT coalesce(jsonb_agg(jsonb_build_object(
                 'name', c.attname, 'type', t.typname, 'schema', n.nspname, 'enum', t.typtype = 'e',
                 'labels', (SELECT coalesce(jsonb_agg(e.enumlabel ORDER BY e.enumsortorder), '[]') FROM pg_enum e WHERE e.enumtypid = t.oid),
                 'required', c.attnotnull OR EXISTS (SELECT FROM base d JOIN pg_type y ON y.oid = d.oid WHERE d.origin = c.atttypid AND y.typnotnull),
                 'default', coalesce((SELECT pg_get_expr(d.adbin, d.adrelid) FROM pg_attrdef d WHERE d.adrelid = f.oid AND d.adnum = c.attnum), ''),
                 'refers', EXISTS (SELECT FROM pg_constraint k WHERE k.contype = 'f' AND k.conrelid = f.oid AND c.attnum = ANY (k.conkey)),
                 'generated', c.attgenerated <> '' OR c.attidentity = 'a',
                 'checks', (SELECT coalesce(jsonb_agg(pg_get_constraintdef(k.oid) ORDER BY k.conname), '[]') FROM pg_constraint k
                             WHERE k.contype = 'c' AND (k.conrelid = f.oid AND k.conkey = ARRAY[c.attnum]
                                                        OR k.contypid IN (SELECT d.oid FROM base d WHERE d.origin = c.atttypid)))
               ) ORDER BY c.attnum), '[]')
          FROM columns c
          JOIN base b ON b.origin = c.atttypid AND b.typtype <> 'd'
          JOIN pg_type t ON t.oid = b.oid
          JOIN pg_namespace n ON n.oid = t.typnamespace
         WHERE c.attrelid = f.oid) AS columns,
       (SELECT coalesce(jsonb_agg(u.columns ORDER BY u.indisprimary DESC, u.indexrelid), '[]')
          FROM (SELECT i.indexrelid, i.indisprimary,
                       (SELECT jsonb_agg(c.attname ORDER BY k.ord) FROM unnest(i.indkey::int2[]) WITH ORDINALITY AS k(attnum, ord)
                          JOIN columns c ON c.attrelid = i.indrelid AND c.attnum = k.attnum WHERE k.ord <= i.indnkeyatts) AS columns
                  FROM pg_index i
                 WHERE i.indrelid = f.oid AND i.indisunique AND i.indimmediate AND i.indisvalid AND i.indpred IS NULL AND i.indexprs IS NULL
                   AND NOT EXISTS (SELECT FROM columns c WHERE c.attrelid = i.indrelid AND c.attnum = ANY (i.indkey::int2[]) AND NOT c.attnotnull)) AS u
       ) AS keys,
       (SELECT coalesce(jsonb_agg(jsonb_build_array(p.attname, r.attname) ORDER BY k.conname), '[]')
          FROM pg_constraint k
          JOIN columns p ON p.attrelid = f.oid AND k.conkey = ARRAY[p.attnum]
          JOIN columns r ON r.attrelid = f.oid AND k.confkey = ARRAY[r.attnum]
         WHERE k.contype = 'f' AND k.conrelid = f.oid AND k.confrelid = f.oid) AS parents,
       (SELECT coalesce(jsonb_agg(jsonb_build_object('name', g.tgname, 'function', p.proname, 'notifies', p.prosrc ~* '\ynotify\y|pg_notify') ORDER BY g.tgname), '[]')
          FROM pg_trigger g JOIN pg_proc p ON p.oid = g.tgfoid
         WHERE g.tgrelid = f.oid AND NOT g.tgisinternal AND g.tgenabled <> 'D') AS triggers,
       (SELECT coalesce(jsonb_agg(k.conname || ' ' || left(pg_get_constraintdef(k.oid), 200) ORDER BY k.conname), '[]')
          FROM pg_constraint k WHERE k.contype = 'c' AND k.conrelid = f.oid AND cardinality(k.conkey) > 1) AS checks,
       (SELECT coalesce(jsonb_agg(jsonb_build_object('name', b.name, 'refers', coalesce(b.refers, ''), 'referred', b.referred) ORDER BY b.place), '[]')
          FROM beside b WHERE b.of_table = f.oid AND b.place <= 8) AS beside,
       (SELECT greatest(count(*) - 8, 0) FROM beside b WHERE b.of_table = f.oid) AS more
  FROM found f
 ORDER BY f.nspname = 'public' DESC, f.nspname, f.relname
