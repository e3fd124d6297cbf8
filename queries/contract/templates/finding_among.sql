-- :about
-- :header
WITH RECURSIVE
-- :part
(SELECT t.id,
        :since AS since,
        jsonb_strip_nulls(jsonb_build_object(:evidence)) AS evidence,
        :suggest AS suggest,
        :grade AS severity
   FROM nodes AS t
  WHERE (:ids IS NULL OR t.id = ANY (:ids))
    AND (:where)
  ORDER BY :order
  LIMIT :limit)
