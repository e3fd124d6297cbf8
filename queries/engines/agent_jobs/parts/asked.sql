-- The jobs of `wanted` (wanted.sql): at their known places, one block each, else by jobs_pkey, whose random ids cost one block for
-- each level. Another row or none may be at a known place.
asked AS (
  WITH there AS MATERIALIZED (SELECT j.*, j.xmin, j.xmax, j.ctid, j.tableoid FROM :"schema".jobs j WHERE j.ctid = ANY (:places::text[]::tid[])),
  placed AS MATERIALIZED (SELECT t.* FROM there t WHERE t.id IN (SELECT w.key FROM wanted w WHERE w.kind = 'job'))
  SELECT * FROM placed
  UNION ALL
  SELECT j.*, j.xmin, j.xmax, j.ctid, j.tableoid
    FROM :"schema".jobs j
   WHERE j.id = ANY (ARRAY(SELECT w.key FROM wanted w WHERE w.kind = 'job' AND w.key NOT IN (SELECT p.id FROM placed p)))
)
