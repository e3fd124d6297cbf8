-- Unfinished items, by state and then the earliest first.
-- cursor: state|due|id of the last row of the previous page, or NULL
-- needs: item_by_state
SELECT 'item:' || w.id AS id, w.state || '|' || w.due || '|' || w.id AS cursor
  FROM :"schema".work_items w
 WHERE w.state <> 'done'
   AND (:cursor IS NULL OR (w.state, w.due, w.id) > (split_part(:cursor, '|', 1), split_part(:cursor, '|', 2)::timestamptz,
                                                      split_part(:cursor, '|', 3)::int8))
 ORDER BY w.state, w.due, w.id
 LIMIT :limit
