-- Nodes of the kind :kind that a worker would take next, in its order.
-- kinds: :kind
-- :header
-- queues: those that the worker serves, or NULL for any
WITH first AS MATERIALIZED (
-- :each
(SELECT t.:key AS key
   FROM :"schema".:table AS t
   :beside
  WHERE :unfinished
    :all
    AND (:queues IS NULL OR (:queue)::text = ANY (:queues))
  ORDER BY :order
  LIMIT :limit)
-- :end
)
SELECT :id AS id, (:queue)::text AS queue, :since AS since
  FROM :"schema".:table AS t
  :beside
 WHERE t.:key IN (SELECT f.key FROM first f)
 ORDER BY :order
 LIMIT :limit
