-- The rows that actions on items may change.
-- Index: work_items_pkey.
SELECT 'item:' || w.id AS id, w.tableoid AS relation, w.ctid::text AS place
  FROM :"schema".work_items w
 WHERE w.id = ANY (ARRAY(SELECT substr(i, 6)::int8 FROM unnest(:ids) AS i))
