-- Nodes that belong to these nodes, or that these belong to: the task of a step or dead letter, the steps of a task, and the
-- steps that wait for a step, at any distance. A row without id: not all are known, and why.
-- Indexes: the primary keys, idx_workflow_steps_task_covering, those on workflow_step_edges.
WITH RECURSIVE steps AS MATERIALIZED (
  SELECT s.workflow_step_uuid AS step, s.task_uuid FROM :"schema".workflow_steps s
   WHERE s.workflow_step_uuid = ANY (:step_keys)
),
entries AS MATERIALIZED (
  SELECT d.task_uuid FROM :"schema".tasks_dlq d
   WHERE d.dlq_entry_uuid = ANY (:dead_letter_keys)
),
whole AS MATERIALIZED (
  SELECT substr(i, 6)::uuid AS task_uuid FROM unnest(:ids) AS i WHERE i LIKE 'task:%'
  UNION
  SELECT l.task_uuid FROM entries l
),
below AS (
  SELECT e.to_step_uuid AS step FROM :"schema".workflow_step_edges e WHERE e.from_step_uuid = ANY (ARRAY(SELECT step FROM steps))
  UNION
  SELECT e.to_step_uuid FROM below b JOIN :"schema".workflow_step_edges e ON e.from_step_uuid = b.step
)
(SELECT 'task:' || p.task_uuid AS id, 'parent' AS relation, '' AS note
   FROM (SELECT s.task_uuid FROM steps s UNION SELECT l.task_uuid FROM entries l) AS p LIMIT :limit)
UNION ALL
(SELECT 'step:' || s.workflow_step_uuid, 'descendant', '' FROM :"schema".workflow_steps s
  WHERE s.task_uuid = ANY (ARRAY(SELECT task_uuid FROM whole)) LIMIT :limit)
UNION ALL
(SELECT 'step:' || b.step, 'waiter', 'steps that need its result' FROM (SELECT step FROM below LIMIT :limit) AS b
  WHERE b.step NOT IN (SELECT step FROM steps))
UNION ALL
(SELECT 'step:' || o.workflow_step_uuid, 'sibling', 'unfinished steps of the same task, which is evaluated as a whole'
   FROM (SELECT s.workflow_step_uuid FROM :"schema".workflow_steps s
          WHERE s.task_uuid = ANY (ARRAY(SELECT task_uuid FROM steps)) AND s.workflow_step_uuid <> ALL (ARRAY(SELECT step FROM steps))
            AND s.workflow_step_uuid <> ALL (ARRAY(SELECT step FROM below LIMIT :limit))
          LIMIT :limit) AS o
   JOIN :"schema".workflow_steps s ON s.workflow_step_uuid = o.workflow_step_uuid
  CROSS JOIN LATERAL (
    SELECT coalesce((SELECT x.to_state FROM :"schema".workflow_step_transitions x WHERE x.workflow_step_uuid = s.workflow_step_uuid AND x.most_recent),
                    CASE WHEN NOT EXISTS (SELECT FROM :"schema".workflow_step_transitions x WHERE x.workflow_step_uuid = s.workflow_step_uuid)
                         THEN 'pending' END) AS to_state
    OFFSET 0) AS x
  WHERE x.to_state NOT IN ('complete', 'cancelled', 'resolved_manually', 'error'))
UNION ALL
SELECT NULL, 'waiter', 'the engine alone knows what the message starts' WHERE EXISTS (SELECT FROM unnest(:ids) AS i WHERE i LIKE 'message:%')
