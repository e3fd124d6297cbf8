
-- :change
UPDATE :"schema".:table AS t
   SET :set
 WHERE :those
   AND (:id, :version) IN (SELECT * FROM unnest(:ids, :versions))
   AND :filter
RETURNING :id AS id
