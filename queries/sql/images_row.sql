-- Row of one table as text, column by column, for a row copy `c`: with its digest, and the transaction that wrote it.
-- {table}, {relation}, {texts}, {rest}, {oid}, {version}: from image_columns.sql
-- Reads the row by its place, without an index. Returns nothing if the table's columns have changed.
SELECT r.xmin, r.texts, r.rest, left(md5(r.texts::text || r.rest), 16) AS digest
  FROM (SELECT t.xmin::text AS xmin, {texts} AS texts, {rest} AS rest
          FROM {relation} AS t
         WHERE t.ctid = c.place::tid
           AND c."table" = {table}
           AND (SELECT p.xmin::text FROM pg_class p WHERE p.oid = {oid}) = '{version}'
        OFFSET 0) AS r -- OFFSET 0: each part is read once
