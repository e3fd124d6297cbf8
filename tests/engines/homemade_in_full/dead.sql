-- Items that failed as often as they may, newest first.
-- cursor: due|id of the last row of the previous page, or NULL
-- needs: item_by_state
SELECT 'item:' || w.id AS id, w.due || '|' || w.id AS cursor, 7::int8 AS severity, extract(epoch FROM w.due)::float8 AS since,
       w.task AS cause, w.error, NULL::text AS was, NULL::text AS is_now
  FROM :"schema".work_items w
 WHERE w.state = 'failed'
   AND (:ids IS NULL OR w.id = ANY (ARRAY(SELECT substr(i, 6)::int8 FROM unnest(:ids) AS i)))
   AND (:cursor IS NULL OR (w.due, w.id) < (split_part(:cursor, '|', 1)::timestamptz, split_part(:cursor, '|', 2)::int8))
 ORDER BY w.due DESC, w.id DESC
 LIMIT :limit
