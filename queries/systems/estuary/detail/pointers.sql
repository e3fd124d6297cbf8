-- title: What points at it
-- kinds: task
-- $1 id text: local id
-- Indexes: those of the tables that point at tasks; without one only tables of at most 16 MB are read. By foreign keys
-- as the catalog has them, and by columns that are known to keep a task's id. ts_stat is what runs a query by its text.
WITH pointing AS MATERIALIZED (
  SELECT c.conrelid AS oid, a.attnum, a.attname, 'foreign key ' || c.conname AS how
    FROM pg_constraint c JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = c.conkey[1]
   WHERE c.contype = 'f' AND c.confrelid = format('%I.tasks', :'schema')::regclass AND cardinality(c.conkey) = 1
  UNION ALL
  SELECT r.oid, a.attnum, a.attname, 'no foreign key'
    FROM pg_attribute a JOIN pg_class r ON r.oid = a.attrelid JOIN pg_type y ON y.oid = a.atttypid
   WHERE a.attname IN ('controller_task_id', 'notification_task_id') AND r.relkind IN ('r', 'p') AND NOT a.attisdropped
     AND coalesce(nullif(y.typbasetype, 0), y.oid) = 'macaddr8'::regtype AND r.oid <> format('%I.tasks', :'schema')::regclass
     AND NOT EXISTS (SELECT FROM pg_constraint c WHERE c.contype = 'f' AND c.conrelid = r.oid AND c.confrelid = format('%I.tasks', :'schema')::regclass AND a.attnum = ANY (c.conkey))
),
readable AS MATERIALIZED (
  SELECT p.oid::regclass::text AS place, p.attname::text AS col, p.how
    FROM pointing p JOIN pg_class r ON r.oid = p.oid
   WHERE has_schema_privilege(r.relnamespace, 'USAGE') AND has_column_privilege(r.oid, p.attnum, 'SELECT')
     AND (pg_relation_size(r.oid) <= 16777216
          OR EXISTS (SELECT FROM pg_index i WHERE i.indrelid = r.oid AND i.indisvalid AND i.indkey[0] = p.attnum))
)
SELECT r.place AS "table", r.col AS "column", r.how AS "by"
  FROM readable r
 WHERE EXISTS (SELECT FROM ts_stat(format('SELECT array_to_tsvector(ARRAY[''hit'']) FROM %s WHERE %I = %L LIMIT 1', r.place, r.col, substr($1::text, 6))))
 ORDER BY 1, 2
