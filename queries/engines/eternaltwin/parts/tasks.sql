-- The requested tasks: at their known places, one block each, else by task_pkey, whose random ids cost one block for
-- each level. Another row or none may be at a known place.
tasks AS MATERIALIZED (
  WITH keys AS (SELECT substr(i, 6)::uuid AS key FROM unnest(:ids) AS i WHERE i ~* '^task:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'),
  there AS MATERIALIZED (SELECT t.*, t.xmin, t.xmax, t.ctid, t.tableoid FROM :"schema".task t WHERE t.ctid = ANY (:places::text[]::tid[])),
  placed AS MATERIALIZED (SELECT t.* FROM there t WHERE t.task_id IN (SELECT k.key FROM keys k))
  SELECT * FROM placed
  UNION ALL
  SELECT t.*, t.xmin, t.xmax, t.ctid, t.tableoid
    FROM :"schema".task t
   WHERE t.task_id = ANY (ARRAY(SELECT k.key FROM keys k WHERE k.key NOT IN (SELECT p.task_id FROM placed p)))
)
