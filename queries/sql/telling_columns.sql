-- Columns of tables that may tell rows apart: those of plain types that this role may read, and the key that one refers to.
-- ids: relation names; schema; bytes: of the longest document, which is not cut
-- text is the value of a row {row} as text, which is base64 for bytes. Text may be a document, too. joined leads to the row {to} that it refers to.
-- Indexes: pg_class_relname_nsp_index, pg_attribute_relid_attnum_index, pg_constraint_conrelid_contypid_conname_index.
SELECT c.relname::text AS relation, a.attname::text AS column, t.type, r.relation AS refers, r.joined,
       CASE WHEN t.type IN ('json', 'jsonb', 'bytea', 'text')
            THEN format(CASE t.type WHEN 'bytea' THEN 'CASE WHEN pg_column_size({row}.%1$I) <= %2$s THEN encode({row}.%1$I, ''base64'') END'
                                    ELSE 'CASE WHEN pg_column_size({row}.%1$I) <= %2$s THEN left({row}.%1$I::text, %2$s) END' END, a.attname, :bytes)
            ELSE format('left({row}.%I::text, 200)', a.attname) END AS text
  FROM pg_namespace n JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = ANY (:ids) AND c.relkind IN ('r', 'p')
  JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
  JOIN pg_type y ON y.oid = a.atttypid JOIN pg_type b ON b.oid = CASE WHEN y.typtype = 'd' THEN y.typbasetype ELSE y.oid END
 CROSS JOIN LATERAL (SELECT CASE WHEN b.typtype = 'e' THEN 'enum' ELSE b.typname END::text AS type) AS t
  LEFT JOIN LATERAL (
       SELECT o.relname::text AS relation,
              format('LEFT JOIN LATERAL (SELECT %s FROM %I.%I AS o WHERE o.%I = {row}.%I LIMIT 1) AS {to} ON true',
                     (SELECT string_agg(quote_ident(x.attname), ', ') FROM pg_attribute x
                       WHERE x.attrelid = o.oid AND x.attnum > 0 AND NOT x.attisdropped AND has_column_privilege(o.oid, x.attnum, 'SELECT')),
                     n.nspname, o.relname, k.attname, a.attname) AS joined
         FROM pg_constraint f JOIN pg_class o ON o.oid = f.confrelid AND o.relnamespace = n.oid
         JOIN pg_attribute k ON k.attrelid = o.oid AND k.attnum = f.confkey[1]
        WHERE f.conrelid = c.oid AND f.contype = 'f' AND f.conkey = ARRAY[a.attnum] AND o.relname = ANY (:ids)
          AND has_column_privilege(o.oid, k.attnum, 'SELECT') LIMIT 1) AS r ON true
 WHERE n.nspname = :schema AND has_column_privilege(c.oid, a.attnum, 'SELECT') AND a.attgenerated = ''
   AND (b.typtype = 'e' OR b.typnamespace = 'pg_catalog'::regnamespace
        AND b.typname IN ('int2', 'int4', 'int8', 'text', 'varchar', 'bool', 'uuid', 'macaddr8', 'json', 'jsonb', 'bytea'))
 ORDER BY c.relname, a.attnum
