
-- :change
DELETE FROM :"schema".:table AS t
 WHERE :wanted
   AND (:version) = (:versions)[array_position(:ids, :id)]
   AND :filter
RETURNING :id AS id
