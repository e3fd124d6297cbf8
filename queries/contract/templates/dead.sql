-- Dead letters, newest first.
-- :header
-- cursor: time, part and key of the last row of the previous page, or NULL
SELECT d.id, d.cursor, d.severity, d.since, d.cause, d.error, NULL::text AS was, NULL::text AS is_now
  FROM (
-- :each
(SELECT :id AS id, jsonb_build_array(:column, :part, t.:key)::text AS cursor, 7::int8 AS severity,
        :since AS since,
        NULL::text AS cause,
        :error AS error,
        :part AS part, row_number() OVER (ORDER BY :order) AS n
   FROM :"schema".:table AS t
  WHERE :filter
    AND :first
    AND CASE WHEN :cursor IS NULL OR :later THEN true
             WHEN (:cursor::text::jsonb ->> 1)::int = :part THEN t.:key < CAST(:cursor::text::jsonb ->> 2 AS :type)
             ELSE (:cursor::text::jsonb ->> 1)::int < :part END
    AND (:ids IS NULL OR :wanted)
  ORDER BY :order
  LIMIT :limit)
-- :end
) AS d
 ORDER BY d.since DESC NULLS LAST, d.part, d.n
 LIMIT :limit
