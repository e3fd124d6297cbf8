-- The relations and sequences of these names in every schema that could hold an engine: columns by base type (an enum of
-- another schema with that schema), indexes, sizes, rights.
-- query: relation names; args: like: patterns of further ones
-- Waits for no lock. Sizes are estimates, because pg_relation_size() locks the relation. pg_get_expr() and
-- pg_get_constraintdef() lock it too, so they are skipped for a relation that is `locked` exclusively. `checks` then has the
-- text constants of the constraints only, quoted, from their stored form: 4 bytes of length, then ASCII.
-- Indexes: pg_class_relname_nsp_index, pg_attribute_relid_attnum_index, pg_index_indrelid_index.
WITH RECURSIVE
\ir parts/names.sql
,
exclusive AS MATERIALIZED (
  -- Includes locks that are waited for, because later requests queue behind them.
  SELECT l.relation FROM pg_locks l
   WHERE l.locktype = 'relation' AND l.mode = 'AccessExclusiveLock' AND l.pid IS DISTINCT FROM pg_backend_pid()
     AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
),
found AS (
  SELECT c.oid, c.relname, c.relkind, c.relnamespace, c.reltuples, n.nspname, c.oid IN (TABLE exclusive) AS locked
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
   WHERE c.relname = ANY (ARRAY(SELECT a.name FROM names a)) AND c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S')
     AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg\_t%'
),
columns AS (
  SELECT a.attrelid, a.attname, a.attnum, a.attnotnull, a.atttypid
    FROM found f JOIN pg_attribute a ON a.attrelid = f.oid
   WHERE a.attnum > 0 AND NOT a.attisdropped
),
base AS (
  -- The base type of a domain may be another domain.
  SELECT t.oid AS origin, t.oid, t.typname, t.typtype, t.typbasetype FROM pg_type t
   WHERE t.oid IN (SELECT atttypid FROM columns)
  UNION ALL
  SELECT b.origin, t.oid, t.typname, t.typtype, t.typbasetype
    FROM base b JOIN pg_type t ON t.oid = b.typbasetype WHERE b.typtype = 'd'
),
family AS (
  -- A partitioned table has no rows of its own. Reading a table reads its partitions and child tables.
  SELECT f.oid AS origin, f.oid FROM found f
  UNION
  SELECT p.origin, i.inhrelid FROM family p JOIN pg_inherits i ON i.inhparent = p.oid
),
sizes AS (
  -- relpages is 0 until the first VACUUM or ANALYZE and stale after a bulk load, so rows inserted since count 20 per block.
  SELECT p.origin, sum(greatest(c.relpages, (pg_stat_get_ins_since_vacuum(c.oid) + 19) / 20))::int8 AS blocks
    FROM family p JOIN pg_class c ON c.oid = p.oid WHERE c.relkind IN ('r', 'm') GROUP BY p.origin
)
SELECT f.nspname::text AS schema, f.relname::text AS relation, f.relkind::text AS kind, f.locked,
       coalesce((SELECT s.blocks FROM sizes s WHERE s.origin = f.oid), 0) AS blocks, f.reltuples::float8 AS tuples,
       row_security_active(f.oid) AS policies,
       (SELECT jsonb_object_agg(c.attname, coalesce((SELECT n.nspname || '.' FROM pg_type y JOIN pg_namespace n ON n.oid = y.typnamespace
                                                      WHERE y.oid = b.oid AND b.typtype = 'e' AND n.oid <> f.relnamespace), '') || b.typname)
          FROM columns c JOIN base b ON b.origin = c.atttypid AND b.typtype <> 'd' WHERE c.attrelid = f.oid) AS columns,
       (SELECT coalesce(jsonb_agg(jsonb_build_object(
                 'columns', (SELECT jsonb_agg(a.attname ORDER BY k.ord)
                               FROM unnest(i.indkey::int2[]) WITH ORDINALITY AS k(attnum, ord)
                               LEFT JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum
                              WHERE k.ord <= i.indnkeyatts),
                 'unique', i.indisunique, 'partial',
                 CASE WHEN i.indpred IS NULL THEN NULL WHEN f.locked THEN '?' ELSE pg_get_expr(i.indpred, i.indrelid) END)), '[]')
          FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid JOIN pg_am m ON m.oid = x.relam
         WHERE i.indrelid = f.oid AND i.indisvalid AND m.amname = 'btree') AS indexes,
       (SELECT coalesce(string_agg(CASE WHEN NOT f.locked THEN pg_get_constraintdef(k.oid) ELSE (
                 SELECT string_agg(quote_literal(w.word), ' ')
                   FROM regexp_matches(k.conbin::text, '\{CONST :consttype (?:25|1042|1043) [^{}]*:constvalue [0-9]+ \[ ([-0-9 ]+) \]', 'g') AS m(found)
                  CROSS JOIN LATERAL (
                    SELECT string_agg(CASE WHEN b.byte::int BETWEEN 32 AND 126 THEN chr(b.byte::int) ELSE '?' END, '' ORDER BY b.place) AS word
                      FROM unnest(string_to_array(m.found[1], ' ')) WITH ORDINALITY AS b(byte, place) WHERE b.place > 4) AS w) END, ' '), '')
          FROM pg_constraint k WHERE k.conrelid = f.oid AND k.contype = 'c') AS checks,
       has_schema_privilege(f.relnamespace, 'USAGE') AS usable,
       has_schema_privilege(f.relnamespace, 'USAGE') AND has_table_privilege(f.oid, 'INSERT, UPDATE, DELETE') AS lockable,
       CASE WHEN has_schema_privilege(f.relnamespace, 'USAGE')
            THEN CASE WHEN f.relkind = 'S'
                      THEN CASE WHEN has_sequence_privilege(f.oid, 'USAGE') THEN '{USAGE}'::text[] ELSE '{}' END
                      ELSE array_remove(ARRAY[
                   CASE WHEN has_any_column_privilege(f.oid, 'SELECT') THEN 'SELECT' END,
                   CASE WHEN has_any_column_privilege(f.oid, 'INSERT') THEN 'INSERT' END,
                   CASE WHEN has_any_column_privilege(f.oid, 'UPDATE') THEN 'UPDATE' END,
                   CASE WHEN has_table_privilege(f.oid, 'DELETE') THEN 'DELETE' END], NULL) END
            ELSE '{}'::text[] END AS privileges
  FROM found f
 ORDER BY f.nspname = 'public' DESC, f.nspname, f.relname
