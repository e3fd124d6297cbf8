
-- :change
DELETE FROM :"schema".:table AS t
 WHERE t.:key = ANY (:keys)
   AND (:id, :version) IN (SELECT * FROM unnest(:ids, :versions))
   AND :filter
RETURNING :id AS id
