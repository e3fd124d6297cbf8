-- Row of one table as text, column by column, for a row copy `c`, and the transaction that wrote it.
-- {table}, {relation}, {texts}, {rest}, {oid}, {version}: from image_columns.sql
-- Reads the row by its place, without an index. Returns nothing if the table's columns have changed.
SELECT t.xmin::text AS xmin, {texts} AS texts, {rest} AS rest
  FROM {relation} AS t
 WHERE t.ctid = c.place::tid
   AND c."table" = {table}
   AND (SELECT p.xmin::text FROM pg_class p WHERE p.oid = {oid}) = '{version}'
