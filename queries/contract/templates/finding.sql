-- :about
-- :header
SELECT :id AS id,
       :since AS since,
       jsonb_build_object(:evidence) AS evidence
  FROM :"schema".:table AS t
 WHERE (:where)
   AND (:ids IS NULL OR :wanted)
 ORDER BY :order
 LIMIT :limit
