-- The requested jobs: at their known places, one block each, else by jobs_pkey, whose random ids cost one block for
-- each level. Another row or none may be at a known place.
asked AS (
  WITH keys AS (SELECT substr(i, 5)::uuid AS key FROM unnest(:ids) AS i WHERE i ~* '^job:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'),
  there AS MATERIALIZED (SELECT j.*, j.xmin, j.xmax, j.ctid, j.tableoid FROM :"schema".jobs j WHERE j.ctid = ANY (:places::text[]::tid[])),
  placed AS MATERIALIZED (SELECT t.* FROM there t WHERE t.id IN (SELECT k.key FROM keys k))
  SELECT * FROM placed
  UNION ALL
  SELECT j.*, j.xmin, j.xmax, j.ctid, j.tableoid
    FROM :"schema".jobs j
   WHERE j.id = ANY (ARRAY(SELECT k.key FROM keys k WHERE k.key NOT IN (SELECT p.id FROM placed p)))
)
