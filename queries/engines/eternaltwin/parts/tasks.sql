-- The tasks of `wanted` (wanted.sql): at their known places, one block each, else by task_pkey, whose random ids cost one block for each level.
-- Another row or none may be at a known place.
tasks AS MATERIALIZED (
  WITH there AS MATERIALIZED (SELECT t.*, t.xmin, t.xmax, t.ctid, t.tableoid FROM :"schema".task t WHERE t.ctid = ANY (:places::text[]::tid[])),
  placed AS MATERIALIZED (SELECT t.* FROM there t WHERE t.task_id IN (SELECT w.key FROM wanted w WHERE w.kind = 'task'))
  SELECT * FROM placed
  UNION ALL
  SELECT t.*, t.xmin, t.xmax, t.ctid, t.tableoid
    FROM :"schema".task t
   WHERE t.task_id = ANY (ARRAY(SELECT w.key FROM wanted w WHERE w.kind = 'task' AND w.key NOT IN (SELECT p.task_id FROM placed p)))
)
