-- Nodes of the kind :kind that a worker would take next, in its order.
-- kinds: :kind
-- :header
-- queues: those that the worker serves, or NULL for any
SELECT :id AS id, (:queue)::text AS queue, :since AS since
  FROM :"schema".:table AS t
  :beside
 WHERE :first
   :all
   AND (:queues IS NULL OR (:queue)::text = ANY (:queues))
 ORDER BY :order
 LIMIT :limit
