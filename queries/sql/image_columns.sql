-- Columns of tables as text, for images: the texts restore the values by a cast.
-- args: for each table an object with name, or with the oid of the table or of a partition of it; columns: columns to read whole, or
--   ["*"]; bytes: size of a text beyond which its value is not read
-- columns are the columns to read whole and those of the key; others the other ones. A value of fixed size is its text. A value of
-- varying size is its text after "=", or "#" with the size and the digest of its text: of `others`, if it is larger than 2,000 bytes.
-- rest is a digest of the others, without generated ones, which follow from the rest of the row. forms: json if the texts of a column
-- are JSON, number if they may be, or else array or text. oids are those of the table and its partitions. match is the primary key of a
-- row `i`, and `t` is the row of the table. version changes with the table's columns.
-- Indexes: pg_class_oid_index, pg_class_relname_nsp_index, pg_attribute_relid_attnum_index, pg_index_indrelid_index.
WITH asked AS MATERIALIZED (
  SELECT CASE WHEN a.t ? 'oid' AND n.nspname <> :schema THEN n.nspname || '.' || c.relname ELSE c.relname END AS name, a.t -> 'columns' AS columns,
         (a.t ->> 'bytes')::int AS size, n.nspname, c.oid, c.relname, c.relkind, c.xmin::text AS version
    FROM jsonb_array_elements(:args::text::jsonb) AS a(t)
   CROSS JOIN LATERAL (SELECT (a.t ->> 'oid')::oid AS oid) AS g
    JOIN pg_class c ON c.oid = coalesce(pg_partition_root(g.oid)::oid, g.oid,
                                        (SELECT k.oid FROM pg_class k JOIN pg_namespace s ON s.oid = k.relnamespace
                                          WHERE k.relname = a.t ->> 'name' AND s.nspname = :schema))
    JOIN pg_namespace n ON n.oid = c.relnamespace
),
keys AS MATERIALIZED (
  SELECT a.oid, p.attnum, p.at
    FROM asked a JOIN pg_index x ON x.indrelid = a.oid AND x.indisprimary
   CROSS JOIN LATERAL unnest(x.indkey::int2[]) WITH ORDINALITY AS p(attnum, at)
),
parts AS MATERIALIZED (
  SELECT a.oid, k.attnum, k.attname::text AS name, k.attlen = -1 AS varying, k.attgenerated <> '' AS generated, p.at AS in_key,
         format_type(k.atttypid, k.atttypmod) AS type,
         (SELECT CASE WHEN coalesce(nullif(y.typbasetype, 0), y.oid)::regtype::text
                             IN ('boolean', 'smallint', 'integer', 'bigint', 'json', 'jsonb') THEN 'json'
                      WHEN coalesce(nullif(y.typbasetype, 0), y.oid)::regtype::text IN ('numeric', 'real', 'double precision') THEN 'number'
                      WHEN y.typcategory = 'A' THEN 'array' ELSE 'text' END FROM pg_type y WHERE y.oid = k.atttypid) AS form,
         a.columns ? '*' OR a.columns ? k.attname OR p.at IS NOT NULL AS read,
         CASE WHEN k.attlen <> -1 THEN format('t.%I::text', k.attname)
              WHEN k.atttypid = 'bytea'::regtype
              THEN format('CASE WHEN octet_length(t.%1$I) * 2::int8 + 2 <= %2$s THEN ''='' || t.%1$I::text'
                          ' ELSE ''#'' || octet_length(t.%1$I) * 2::int8 + 2 || '' '' || %3$s END', k.attname, a.size, b.digest)
              -- A large text is made once. Compression makes a value at most 300 times as small.
              ELSE format('CASE WHEN pg_column_size(t.%1$I) > %3$s THEN (SELECT CASE WHEN octet_length(o.v) > %2$s'
                          ' THEN ''#'' || octet_length(o.v) || '' '' || md5(o.v) ELSE ''='' || o.v END FROM (SELECT t.%1$I::text OFFSET 0) AS o(v))'
                          ' ELSE ''='' || t.%1$I::text END', k.attname, a.size, a.size / 300) END AS text,
         CASE WHEN k.attlen <> -1 THEN format('t.%I::text', k.attname)
              WHEN k.atttypid = 'bytea'::regtype
              THEN format('CASE WHEN pg_column_size(t.%1$I) > 2000 THEN ''#'' || octet_length(t.%1$I) * 2::int8 + 2 || '' '' || %2$s'
                          ' ELSE ''='' || t.%1$I::text END', k.attname, b.digest)
              ELSE format('CASE WHEN pg_column_size(t.%1$I) > 2000 THEN (SELECT ''#'' || octet_length(o.v) || '' '' || md5(o.v)'
                          ' FROM (SELECT t.%1$I::text OFFSET 0) AS o(v)) ELSE ''='' || t.%1$I::text END', k.attname) END AS short
    FROM asked a
    JOIN pg_attribute k ON k.attrelid = a.oid AND k.attnum > 0 AND NOT k.attisdropped
   CROSS JOIN LATERAL (
         -- Images in the audit log have the digest of the text, which takes too long of bytes beyond 32 MB.
         SELECT format('CASE WHEN octet_length(t.%1$I) > 32000000 THEN md5(t.%1$I) ELSE md5(t.%1$I::text) END', k.attname)) AS b(digest)
    LEFT JOIN keys p ON p.oid = a.oid AND p.attnum = k.attnum
),
others AS MATERIALIZED (
  -- The digest of an earlier version, which entries have: a boolean is `t`, and a large value its digest without the size.
  SELECT p.*, CASE WHEN p.type = 'boolean' THEN format('s.more[%s]::boolean', p.n)
                   WHEN p.varying THEN format('CASE WHEN s.more[%1$s] LIKE ''#%%'' THEN split_part(s.more[%1$s], '' '', 2) ELSE substr(s.more[%1$s], 2) END', p.n)
                   ELSE format('s.more[%s]', p.n) END AS digested
    FROM (SELECT p.*, row_number() OVER (PARTITION BY p.oid ORDER BY p.attnum) AS n FROM parts p WHERE NOT p.read AND NOT p.generated) AS p
)
SELECT a.name, a.relkind = 'r' AS plain, format('%I.%I', a.nspname, a.relname) AS relation, a.oid::text AS oid, a.version,
       array_append(ARRAY(SELECT relid::oid::text FROM pg_partition_tree(a.oid) WHERE relid <> a.oid), a.oid::text) AS oids,
       array_agg(p.name ORDER BY p.attnum) FILTER (WHERE p.read) AS columns,
       array_agg(p.form ORDER BY p.attnum) FILTER (WHERE p.read) AS forms,
       array_agg(p.varying::text ORDER BY p.attnum) FILTER (WHERE p.read) AS varying,
       array_agg(p.generated::text ORDER BY p.attnum) FILTER (WHERE p.read) AS generated,
       coalesce(array_agg(p.name ORDER BY p.attnum) FILTER (WHERE NOT p.read AND NOT p.generated), '{}') AS others,
       coalesce(array_agg(p.form ORDER BY p.attnum) FILTER (WHERE NOT p.read AND NOT p.generated), '{}') AS other_forms,
       coalesce(array_agg(p.varying::text ORDER BY p.attnum) FILTER (WHERE NOT p.read AND NOT p.generated), '{}') AS other_varying,
       coalesce(array_agg(p.name ORDER BY p.in_key) FILTER (WHERE p.in_key IS NOT NULL), '{}') AS key,
       string_agg(format('t.%I = (i.key ->> %s)::%s', p.name, p.in_key - 1, p.type), ' AND ' ORDER BY p.in_key) FILTER (WHERE p.in_key IS NOT NULL) AS match,
       string_agg(format('t.%I', p.name), ', ' ORDER BY p.in_key) FILTER (WHERE p.in_key IS NOT NULL) AS sort,
       'ARRAY[' || string_agg(p.text, ', ' ORDER BY p.attnum) FILTER (WHERE p.read) || ']' AS texts,
       coalesce('ARRAY[' || string_agg(p.short, ', ' ORDER BY p.attnum) FILTER (WHERE NOT p.read AND NOT p.generated) || ']', '''{}''::text[]') AS more,
       coalesce('md5(ROW(' || (SELECT string_agg(o.digested, ', ' ORDER BY o.n) FROM others o WHERE o.oid = a.oid) || ')::text)', '''''') AS rest
  FROM asked a JOIN parts p ON p.oid = a.oid
 GROUP BY a.name, a.nspname, a.oid, a.relname, a.relkind, a.version
