-- The place of each step in the tree of its task in `asked(task_uuid)`: under its deepest parent, or nowhere for a
-- root. A step's level is its longest path from a root. Cut a cycle where a path is longer than the number of steps in
-- the task.
step_places AS MATERIALIZED (
  WITH RECURSIVE steps AS MATERIALIZED (
    SELECT s.workflow_step_uuid AS step, count(*) OVER (PARTITION BY s.task_uuid) AS n
      FROM :"schema".workflow_steps s WHERE s.task_uuid = ANY (ARRAY(SELECT task_uuid FROM asked))
  ),
  edges AS MATERIALIZED (
    SELECT DISTINCT e.from_step_uuid AS up, e.to_step_uuid AS down
      FROM :"schema".workflow_step_edges e WHERE e.to_step_uuid = ANY (ARRAY(SELECT s.step FROM steps s))
  ),
  levels AS (
    SELECT s.step, 0 AS level, s.n FROM steps s WHERE NOT EXISTS (SELECT FROM edges e WHERE e.down = s.step)
    UNION
    SELECT e.down, l.level + 1, l.n FROM levels l JOIN edges e ON e.up = l.step WHERE l.level < l.n
  ),
  deepest AS (SELECT l.step, max(l.level) AS level, max(l.level) >= max(l.n) AS circular FROM levels l GROUP BY l.step),
  under AS (
    SELECT DISTINCT ON (e.down) e.down AS step, e.up AS parent, count(*) OVER (PARTITION BY e.down) - 1 AS more
      FROM edges e
      JOIN deepest d ON d.step = e.down AND NOT d.circular
      JOIN deepest u ON u.step = e.up
     ORDER BY e.down, u.level DESC, e.up
  )
  SELECT s.step, u.parent, u.more FROM steps s LEFT JOIN under u ON u.step = s.step
)
