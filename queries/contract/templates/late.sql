-- Nodes of the kind :kind for which all conditions of a worker hold since long.
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
(SELECT :id AS id, :since AS since,
        jsonb_build_object('queue', (:queue)::text, 'since', to_timestamp(:since)::timestamptz(0)::text) AS evidence
   FROM looked AS t
   :beside
  WHERE :holds
    AND :since < extract(epoch FROM now() - :late)
  ORDER BY 2, 1
  LIMIT :limit)
UNION ALL
SELECT NULL, NULL, NULL WHERE :ids IS NULL AND (SELECT count(*) FROM looked) > 10000
