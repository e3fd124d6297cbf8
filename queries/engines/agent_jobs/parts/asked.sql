-- The requested jobs: at their known places, one block each, else by jobs_pkey, whose random ids cost one block for
-- each level. Another row or none may be at a known place.
asked AS (
  WITH there AS MATERIALIZED (
    SELECT j.*, j.xmin, j.xmax, j.ctid, j.tableoid FROM :"schema".jobs j WHERE j.ctid = ANY (:places::text[]::tid[])
  ),
  placed AS MATERIALIZED (SELECT t.* FROM there t WHERE t.id = ANY (:job_keys))
  SELECT * FROM placed
  UNION ALL
  SELECT j.*, j.xmin, j.xmax, j.ctid, j.tableoid
    FROM :"schema".jobs j
   WHERE j.id = ANY (ARRAY(SELECT k FROM unnest(:job_keys) AS k WHERE k NOT IN (SELECT p.id FROM placed p)))
)
