-- seen, released: claimed jobs whose worker is gone, and the claims, which are deleted.
WITH seen AS MATERIALIZED (
  SELECT j.id, j.queue_name, j.priority, j.concurrency_key
\ir jobs.sql
   AND c.id IS NOT NULL AND j.finished_at IS NULL
   AND
\ir claim_dead.sql
\ir seen.sql
),
released AS (
  DELETE FROM :"schema".solid_queue_claimed_executions c USING seen n WHERE c.job_id = n.id RETURNING c.job_id
),
