-- Columns of tables as text, for images: the texts restore the values by a cast.
-- args: for each table an object with name; columns: columns to read, or ["*"]; bytes: size of a text beyond which its
--   value is not read
-- columns are the columns to read and those of the key. A value of fixed size is its text. A value of varying size is its text
-- after "=", or "#" with the size and the digest of its text. rest is a digest of the other columns, without
-- generated ones, which follow from the rest of the row. forms: json if the texts of a column are JSON, or else
-- array or text. version changes with the table's columns.
-- Indexes: pg_class_relname_nsp_index, pg_attribute_relid_attnum_index, pg_index_indrelid_index.
WITH asked AS MATERIALIZED (
  SELECT a.t ->> 'name' AS name, a.t -> 'columns' AS columns, (a.t ->> 'bytes')::int AS size, n.nspname, c.oid, c.relname, c.relkind, c.xmin::text AS version
    FROM jsonb_array_elements(:args::text::jsonb) AS a(t)
    JOIN pg_namespace n ON n.nspname = :schema
    JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = a.t ->> 'name'
),
keys AS MATERIALIZED (
  SELECT a.oid, p.attnum, p.at
    FROM asked a JOIN pg_index x ON x.indrelid = a.oid AND x.indisprimary
   CROSS JOIN LATERAL unnest(x.indkey::int2[]) WITH ORDINALITY AS p(attnum, at)
),
parts AS MATERIALIZED (
  SELECT a.oid, k.attnum, k.attname::text AS name, k.attlen = -1 AS varying, k.attgenerated <> '' AS generated, p.at AS in_key,
         (SELECT CASE WHEN coalesce(nullif(y.typbasetype, 0), y.oid)::regtype::text
                             IN ('boolean', 'smallint', 'integer', 'bigint', 'json', 'jsonb') THEN 'json'
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
         CASE WHEN k.attlen <> -1 THEN format('t.%I', k.attname)
              WHEN k.atttypid = 'bytea'::regtype
              THEN format('CASE WHEN pg_column_size(t.%1$I) > 2000 THEN %2$s ELSE t.%1$I::text END', k.attname, b.digest)
              ELSE format('CASE WHEN pg_column_size(t.%1$I) > 2000 THEN md5(t.%1$I::text) ELSE t.%1$I::text END', k.attname) END AS short
    FROM asked a
    JOIN pg_attribute k ON k.attrelid = a.oid AND k.attnum > 0 AND NOT k.attisdropped
   CROSS JOIN LATERAL (
         -- Images in the audit log have the digest of the text, which takes too long of bytes beyond 32 MB.
         SELECT format('CASE WHEN octet_length(t.%1$I) > 32000000 THEN md5(t.%1$I) ELSE md5(t.%1$I::text) END', k.attname)) AS b(digest)
    LEFT JOIN keys p ON p.oid = a.oid AND p.attnum = k.attnum
)
SELECT a.name, a.relkind = 'r' AS plain, format('%I.%I', a.nspname, a.relname) AS relation, quote_literal(a.name) AS literal, a.oid::text AS oid, a.version,
       array_agg(p.name ORDER BY p.attnum) FILTER (WHERE p.read) AS columns,
       array_agg(p.form ORDER BY p.attnum) FILTER (WHERE p.read) AS forms,
       array_agg(p.varying::text ORDER BY p.attnum) FILTER (WHERE p.read) AS varying,
       array_agg(p.generated::text ORDER BY p.attnum) FILTER (WHERE p.read) AS generated,
       coalesce(array_agg(p.name ORDER BY p.attnum) FILTER (WHERE NOT p.read AND NOT p.generated), '{}') AS others,
       coalesce(array_agg(p.name ORDER BY p.in_key) FILTER (WHERE p.in_key IS NOT NULL), '{}') AS key,
       'ARRAY[' || string_agg(p.text, ', ' ORDER BY p.attnum) FILTER (WHERE p.read) || ']' AS texts,
       coalesce('md5(ROW(' || string_agg(p.short, ', ' ORDER BY p.attnum) FILTER (WHERE NOT p.read AND NOT p.generated) || ')::text)', '''''') AS rest
  FROM asked a JOIN parts p ON p.oid = a.oid
 GROUP BY a.name, a.nspname, a.oid, a.relname, a.relkind, a.version
