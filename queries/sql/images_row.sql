-- Row of one table as text, column by column, at the place of a row `c`: with its digest, and the transaction that wrote it.
-- {relation}, {oids}, {texts}, {more}, {rest}, {oid}, {version}: from image_columns.sql
-- own: this transaction wrote it. Reads the row by its place, without an index. Returns nothing if the table's columns have changed.
SELECT r.xmin, r.own, r.texts, r.more, r.rest, left(md5(r.texts::text || r.rest), 16) AS digest
  FROM (SELECT s.*, {rest} AS rest
          FROM (SELECT t.xmin::text AS xmin, t.xmin IS NOT DISTINCT FROM pg_current_xact_id_if_assigned()::xid AS own, {texts} AS texts, {more} AS more
                  FROM {relation} AS t
                 WHERE t.ctid = c.place::tid
                   AND t.tableoid = c.relation
                   AND c.relation = ANY ('{oids}'::oid[])
                   AND (SELECT p.xmin::text FROM pg_class p WHERE p.oid = {oid}) = '{version}'
                OFFSET 0) AS s
        OFFSET 0) AS r -- OFFSET 0: each part is read once
