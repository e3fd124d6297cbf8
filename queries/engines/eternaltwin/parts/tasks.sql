-- The requested tasks: at their known places, one block each, else by task_pkey, whose random ids cost one block for
-- each level. Another row or none may be at a known place.
tasks AS MATERIALIZED (
  WITH there AS MATERIALIZED (
    SELECT t.*, t.xmin, t.xmax, t.ctid, t.tableoid FROM :"schema".task t WHERE t.ctid = ANY (:places::text[]::tid[])
  ),
  placed AS MATERIALIZED (SELECT t.* FROM there t WHERE t.task_id = ANY (:task_keys))
  SELECT * FROM placed
  UNION ALL
  SELECT t.*, t.xmin, t.xmax, t.ctid, t.tableoid
    FROM :"schema".task t
   WHERE t.task_id = ANY (ARRAY(SELECT k FROM unnest(:task_keys) AS k WHERE k NOT IN (SELECT p.task_id FROM placed p)))
)
