
-- :change
DELETE FROM :"schema".:table AS t
 WHERE :those
   AND (:id, :version) IN (SELECT * FROM unnest(:ids, :versions))
   AND :filter
RETURNING :id AS id
