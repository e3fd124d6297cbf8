-- Columns of other tables with task ids: foreign keys from the catalog, and the columns of the option owners. types:
-- the task types, NULL for any. closed: the reason why the column cannot be checked, NULL if it can. Without a foreign
-- key and an index, a table of at most 16 MB is scanned. Planning a query can run functions of a table's indexes, so
-- only tables of trusted owners are read.
pointing AS MATERIALIZED (
  SELECT p.oid, p.attname, p.conname, p.types,
         CASE WHEN NOT has_schema_privilege(r.relnamespace, 'USAGE') THEN 'the role lacks USAGE on its schema'
              WHEN NOT has_column_privilege(p.oid, p.attnum, 'SELECT') THEN 'the role lacks SELECT on it'
              WHEN NOT EXISTS (SELECT FROM pg_roles o, pg_class t
                                WHERE o.oid = r.relowner AND t.oid = format('%I.tasks', :'schema')::regclass
                                  AND (o.rolsuper OR o.oid = t.relowner OR o.rolname = current_user
                                       OR o.oid = (SELECT d.datdba FROM pg_database d WHERE d.datname = current_database())))
              THEN 'its owner is not trusted'
              WHEN row_security_active(p.oid) THEN 'row-level security may hide rows'
              WHEN p.conname IS NULL AND pg_relation_size(p.oid) > 16777216
                   AND NOT EXISTS (SELECT FROM pg_index i WHERE i.indrelid = p.oid AND i.indisvalid AND i.indkey[0] = p.attnum)
              THEN 'the table is large, and no index starts with this column' END AS closed
    FROM (SELECT c.conrelid AS oid, a.attnum, a.attname, c.conname, NULL::text[] AS types
            FROM pg_constraint c JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = c.conkey[1]
           WHERE c.contype = 'f' AND c.confrelid = format('%I.tasks', :'schema')::regclass AND cardinality(c.conkey) = 1
          UNION ALL
          SELECT t.oid, a.attnum, a.attname, NULL, string_to_array(nullif(o.value, ''), ' ')
            FROM jsonb_each_text(:settings -> 'owners') AS o
            JOIN pg_attribute a ON a.attname = split_part(o.key, '.', 2) AND NOT a.attisdropped
            JOIN pg_class t ON t.oid = a.attrelid AND t.relkind IN ('r', 'p') AND split_part(o.key, '.', 1) IN ('*', t.relname)
            JOIN pg_type y ON y.oid = a.atttypid
           WHERE coalesce(nullif(y.typbasetype, 0), y.oid) = 'macaddr8'::regtype
             AND t.oid <> format('%I.tasks', :'schema')::regclass
             AND NOT EXISTS (SELECT FROM pg_constraint c WHERE c.contype = 'f' AND c.conrelid = t.oid AND c.confrelid = format('%I.tasks', :'schema')::regclass
                                AND a.attnum = ANY (c.conkey))) AS p
    JOIN pg_class r ON r.oid = p.oid
)
