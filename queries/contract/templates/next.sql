-- Nodes of the kind :kind that a worker would take next, in its order. Of each sort of unfinished nodes, 10,000 are looked at.
-- kinds: :kind
-- :header
-- plan: custom
-- queues: those that the worker serves, or NULL for any
WITH
-- :parts
first AS MATERIALIZED (
-- :each
(SELECT t.:key AS key
   FROM (SELECT t.* FROM :"schema".:table AS t
          WHERE :unfinished
            AND :inner
          :sorted
          LIMIT 10001) AS t
   :beside
  WHERE :holds
    AND :outer)
-- :end
)
SELECT :id AS id, (:queue)::text AS queue, :since AS since
  FROM :"schema".:table AS t
  :beside
 WHERE t.:key = ANY (ARRAY(SELECT f.key FROM first f))
 ORDER BY :order
 LIMIT :limit
