-- Rows of one table as text, column by column, with their digest and the transaction that wrote each.
-- {relation}, {texts}, {rest}, {oid}, {version}: from image_columns.sql
-- places: physical places of the rows
-- Reads each row by its place, without an index. Returns nothing if the table's columns have changed.
SELECT r.place, r.xmin, r.texts, r.rest, left(md5(r.texts::text || r.rest), 16) AS digest
  FROM (SELECT t.ctid::text AS place, t.xmin::text AS xmin, {texts} AS texts, {rest} AS rest
          FROM {relation} AS t
         WHERE t.ctid = ANY (:places::text[]::tid[])
           AND (SELECT c.xmin::text FROM pg_class c WHERE c.oid = {oid}) = '{version}'
        OFFSET 0) AS r -- OFFSET 0: each part is read once
