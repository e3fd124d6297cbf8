:about
-- kinds: :kind
-- :header
WITH looked AS MATERIALIZED (
-- :each
(SELECT t.* FROM :"schema".:table AS t
  WHERE :ids IS NULL
    AND :unfinished
  :sorted
  LIMIT 10001)
-- :end
UNION ALL
SELECT t.* FROM :"schema".:table AS t WHERE :wanted AND (:some)
)
(SELECT :id AS id, :at AS since,
        jsonb_build_object(:evidence) AS evidence
   FROM looked AS t
   :beside
  WHERE :found
  ORDER BY 2, 1
  LIMIT :limit)
UNION ALL
SELECT NULL, NULL, NULL WHERE :ids IS NULL AND (SELECT count(*) FROM looked) > 10000
