-- The number of witnesses of each node by verdict. {witnesses} is a statement of an action's section of that name.
-- Parameters: those of the statement.
SELECT w.id, count(*) FILTER (WHERE w.verdict = 'dead') AS dead, count(*) FILTER (WHERE w.verdict = 'alive') AS alive,
       count(*) FILTER (WHERE w.verdict = 'unknown') AS unknown
  FROM (
{witnesses}
  ) AS w
 GROUP BY w.id
