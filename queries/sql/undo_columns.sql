-- Parts of the statements that undo changes of tables. The server quotes all names, and casts restore the values.
-- args: for each table an object with name; columns: those that are restored; counters: those that only increase
-- before is the image of a row `i`; `t` is the row of the table.
-- parents: the other tables of :args that it references.
-- Indexes: pg_class_relname_nsp_index, pg_attribute_relid_attnum_index, pg_constraint_conrelid_contypid_conname_index.
WITH asked AS MATERIALIZED (
  SELECT a.t ->> 'name' AS name, a.t -> 'columns' AS columns, a.t -> 'counters' AS counters, c.oid
    FROM jsonb_array_elements(:args::text::jsonb) AS a(t)
    JOIN pg_namespace n ON n.nspname = :schema
    JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = a.t ->> 'name'
),
parts AS MATERIALIZED (
  SELECT a.oid, k.attnum, format('%I', k.attname) AS name,
         format('(i.before ->> %L)::%s', k.attname, format_type(k.atttypid, k.atttypmod)) AS value,
         format('i.before ? %L', k.attname) AS given,
         a.columns ? k.attname AS restored, a.counters ? k.attname AS counter
    FROM asked a JOIN pg_attribute k ON k.attrelid = a.oid AND k.attnum > 0 AND NOT k.attisdropped AND k.attgenerated = ''
)
SELECT a.name,
       (SELECT string_agg(CASE WHEN p.counter THEN format('%1$s = greatest(t.%1$s, %2$s) + 1', p.name, p.value)
                               ELSE format('%1$s = CASE WHEN %2$s THEN %3$s ELSE t.%1$s END', p.name, p.given, p.value) END, ', ' ORDER BY p.attnum)
          FROM parts p WHERE p.oid = a.oid AND (p.restored OR p.counter)) AS sets,
       (SELECT string_agg(p.name, ', ' ORDER BY p.attnum) FROM parts p WHERE p.oid = a.oid) AS names,
       (SELECT string_agg(p.value || CASE WHEN p.counter THEN ' + 1' ELSE '' END, ', ' ORDER BY p.attnum) FROM parts p WHERE p.oid = a.oid) AS "values",
       ARRAY(SELECT DISTINCT r.name FROM pg_constraint f JOIN asked r ON r.oid = f.confrelid
              WHERE f.conrelid = a.oid AND f.contype = 'f' AND f.confrelid <> a.oid) AS parents
  FROM asked a
