-- Items below an item, oldest first.
-- needs: item_by_parent
SELECT 'item:' || w.id AS id, w.id::text AS cursor
  FROM :"schema".work_items w
 WHERE w.parent_id = substr(:parent, 6)::int8 AND (:cursor IS NULL OR w.id > :cursor::text::int8)
 ORDER BY w.id
 LIMIT :limit
