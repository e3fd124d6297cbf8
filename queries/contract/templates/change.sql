
-- :change
UPDATE :"schema".:table AS t
   SET :set
 WHERE :wanted
   AND (:version) = (:versions)[array_position(:ids, :id)]
   AND :filter
RETURNING :id AS id
