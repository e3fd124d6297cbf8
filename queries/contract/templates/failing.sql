-- :about
-- kinds: :kind
WITH newest AS MATERIALIZED (
  SELECT :narrow FROM :"schema".:table AS t WHERE :ids IS NULL AND NOT :need = ANY (:met_needs) ORDER BY :latest LIMIT 5000
),
failed AS MATERIALIZED (
-- :each
(SELECT :narrow FROM :"schema".:table AS t
  WHERE :ids IS NULL AND :need = ANY (:met_needs) AND (:unfinished)
  :sorted
  LIMIT 1000)
-- :end
UNION ALL
SELECT :narrow FROM newest AS t WHERE :failed
UNION ALL
SELECT :narrow FROM :"schema".:table AS t WHERE :wanted AND (:failed)
)
(SELECT :id AS id, :at AS since, jsonb_build_object(:evidence) AS evidence, :suggest AS suggest, :grade AS severity
   FROM failed AS t
   :beside
  ORDER BY 2 DESC NULLS LAST, 1
  LIMIT :limit)
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL WHERE (SELECT count(*) FROM failed) >= 1000 OR (SELECT count(*) FROM newest) = 5000
