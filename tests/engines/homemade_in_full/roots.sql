-- Items without a parent, newest first.
-- Index: work_items_pkey backwards.
SELECT 'item:' || w.id AS id, w.id::text AS cursor
  FROM :"schema".work_items w
 WHERE w.parent_id IS NULL AND (:cursor IS NULL OR w.id < :cursor::text::int8)
 ORDER BY w.id DESC
 LIMIT :limit
