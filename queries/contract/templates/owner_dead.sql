-- Nodes of the kind :kind that belong to a worker longer than it holds them.
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
(SELECT :id AS id, :held AS since,
        jsonb_build_object('owner', coalesce((:owner)::text, 'A worker'), 'taken', to_timestamp(:taken)::timestamptz(0)::text,
                           'held', to_timestamp(:held)::timestamptz(0)::text) AS evidence
   FROM looked AS t
   :beside
  WHERE :held < extract(epoch FROM now())
    AND (:met) IS NOT TRUE
  ORDER BY 2, 1
  LIMIT :limit)
UNION ALL
SELECT NULL, NULL, NULL WHERE :ids IS NULL AND (SELECT count(*) FROM looked) > 10000
