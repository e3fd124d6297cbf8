-- :about
-- :header
SELECT f.id, f.since, f.evidence
  FROM (
-- :each
(SELECT :id AS id,
        :since AS since,
        jsonb_build_object(:evidence) AS evidence
   FROM :"schema".:table AS t
  WHERE :filter
    AND (:where)
    AND (:ids IS NULL OR :wanted)
  ORDER BY :order
  LIMIT :limit)
-- :end
) AS f
 LIMIT :limit
