-- The steps of `known_steps` that may run, of tasks that have no failed one in `counted_steps`, each with its parents:
-- a row for each parent, or one without. Index: the one on workflow_step_edges(to_step_uuid).
step_parents AS MATERIALIZED (
  WITH hopeful AS MATERIALIZED (
    SELECT k.step FROM known_steps k
     WHERE k.free AND k.state IN ('pending', 'waiting_for_retry')
       AND k.task_uuid NOT IN (SELECT c.task_uuid FROM counted_steps c WHERE c.failed > 0)
  ),
  edges AS MATERIALIZED (
    SELECT e.from_step_uuid, e.to_step_uuid FROM :"schema".workflow_step_edges e
     WHERE e.to_step_uuid = ANY (ARRAY(SELECT h.step FROM hopeful h))
  )
  SELECT h.step, e.from_step_uuid AS parent FROM hopeful h FULL JOIN edges e ON e.to_step_uuid = h.step
)
