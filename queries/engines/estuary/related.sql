-- Nodes that belong to these nodes, or that these belong to: the tasks under a task at any depth, and those above it,
-- which receive its messages and its end. A row without id: not all are known, and why.
-- Indexes: tasks_pkey; one on tasks(parent_id).
WITH RECURSIVE given AS MATERIALIZED (
  SELECT substr(i, 6)::macaddr8 AS task_id FROM unnest(:ids) AS i
),
below AS (
  SELECT g.task_id FROM given g WHERE 'task_by_parent' = ANY (:met_needs)
  UNION
  SELECT t.task_id::macaddr8 FROM below b JOIN :"schema".tasks t ON t.parent_id = b.task_id
   WHERE b.task_id <> '00:00:00:00:00:00:00:00'::macaddr8
),
above AS (
  SELECT g.task_id FROM given g
  UNION
  SELECT p.task_id::macaddr8 FROM above a JOIN :"schema".tasks t ON t.task_id = a.task_id JOIN :"schema".tasks p ON p.task_id = t.parent_id
)
(SELECT 'task:' || b.task_id AS id, 'descendant' AS relation, '' AS note
   FROM (SELECT task_id FROM below LIMIT :limit + cardinality(:ids)) AS b WHERE b.task_id NOT IN (SELECT task_id FROM given) LIMIT :limit)
UNION ALL
(SELECT 'task:' || a.task_id, 'waiter', 'receives its messages'
   FROM (SELECT task_id FROM above LIMIT :limit + cardinality(:ids)) AS a WHERE a.task_id NOT IN (SELECT task_id FROM given) LIMIT :limit)
UNION ALL
SELECT NULL, 'descendant', 'no index starts with tasks.parent_id' WHERE NOT 'task_by_parent' = ANY (:met_needs)
