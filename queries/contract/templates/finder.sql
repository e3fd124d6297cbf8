-- :about
-- kinds: :kind
-- :header
-- needs of ids: none
WITH
-- :parts
looked AS MATERIALIZED (
-- :each
(SELECT :narrow FROM :rows AS t
  WHERE :whose
    AND (:unfinished)
  :sorted
  LIMIT :most)
-- :end
)
(SELECT :id AS id, t.its_since AS since, :evidence AS evidence, :suggest AS suggest, :grade AS severity
   FROM (SELECT t.*, :at AS its_since FROM looked AS t
          :first
          WHERE :found
          ORDER BY :at :way, :id LIMIT :limit) AS t
   :beside
  ORDER BY 2 :way, 1)
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL WHERE :ids IS NULL AND (:more)
