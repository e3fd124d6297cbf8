-- Items by id.
-- query: a number
-- Index: work_items_pkey.
SELECT 'item:' || w.id AS id, 'id' AS matched
  FROM :"schema".work_items w
 WHERE w.id = CASE WHEN :query ~ '^[0-9]{1,18}$' THEN :query::text::int8 END
 LIMIT :limit
