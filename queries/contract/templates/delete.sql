
-- :change
DELETE FROM :"schema".:table AS t
 WHERE :asked
   AND (:id, :version) IN (SELECT * FROM unnest(:ids, :versions))
   AND :filter
RETURNING :id AS id
