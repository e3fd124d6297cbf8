-- :about
-- :header
-- cursor: part and position of the last row of the previous page, or NULL
-- :each
(SELECT :id AS id, jsonb_build_array(:part, :position)::text AS cursor
   FROM :"schema".:table AS t
  WHERE :filter
    AND (:cursor::text::jsonb ->> 0)::int = :part AND (:position) :beyond (:after)
  ORDER BY :order
  LIMIT :limit)
UNION ALL
(SELECT :id AS id, jsonb_build_array(:part, :position)::text AS cursor
   FROM :"schema".:table AS t
  WHERE :filter
    AND coalesce((:cursor::text::jsonb ->> 0)::int, 0) < :part
  ORDER BY :order
  LIMIT :limit)
-- :end
-- :more
 LIMIT :limit
