-- Rows of the nodes, with the transaction or MultiXact that locked each row last.
-- :each
SELECT :id AS id, t.tableoid AS relation, t.ctid::text AS place, t.xmax AS locker
  FROM :"schema".:table AS t
 WHERE :wanted
