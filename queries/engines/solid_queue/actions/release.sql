-- Give jobs back whose worker is gone, as the engine does when a worker ends: the claim becomes a ready execution. A job with a
-- concurrency key keeps its slot. The claim's row is what a worker locks when it ends a job.
-- Indexes: solid_queue_jobs_pkey, and those on job_id.

\ir ../parts/lock.sql

-- :refused
SELECT 'job:' || j.id AS id,
       CASE WHEN c.id IS NULL OR j.finished_at IS NOT NULL THEN 'no process has claimed it'
            ELSE 'its process ' || p.id || ' lives: the last heartbeat was at ' || date_trunc('second', p.last_heartbeat_at) || ' UTC' END AS why
\ir ../parts/jobs.sql
   AND (c.id IS NULL OR j.finished_at IS NOT NULL OR NOT
\ir ../parts/claim_dead.sql
       )

-- :witnesses
SELECT 'job:' || j.id AS id, w.witness AS witness, w.verdict AS verdict, w.detail AS detail, w.since AS since
  FROM (SELECT j.id, c.process_id, c.created_at AS claimed, p.id AS known, p.kind, p.hostname, p.pid, p.last_heartbeat_at AS beat
\ir ../parts/jobs.sql
           AND c.id IS NOT NULL) AS j
 CROSS JOIN LATERAL (
   SELECT 'heartbeat', CASE WHEN j.known IS NULL OR j.beat < timezone('UTC', now()) - :alive
                            THEN 'dead' ELSE 'alive' END,
          CASE WHEN j.known IS NULL THEN coalesce('process ' || j.process_id || ' is not registered any more', 'the claim names no process')
               ELSE j.kind || ' ' || j.known || coalesce(' on ' || j.hostname, '') || ', pid ' || j.pid || ', last heartbeat at ' || date_trunc('second', j.beat) || ' UTC' END,
          extract(epoch FROM coalesce(j.beat, j.claimed))::float8
 ) AS w(witness, verdict, detail, since)

\ir ../parts/rows.sql

-- :change
WITH seen AS MATERIALIZED (
  SELECT j.id, j.queue_name, j.priority
\ir ../parts/jobs.sql
   AND c.id IS NOT NULL AND j.finished_at IS NULL
   AND
\ir ../parts/claim_dead.sql
\ir ../parts/seen.sql
),
released AS (
  DELETE FROM :"schema".solid_queue_claimed_executions c USING seen n WHERE c.job_id = n.id RETURNING c.job_id
),
ready AS (
  INSERT INTO :"schema".solid_queue_ready_executions (job_id, queue_name, priority, created_at)
  SELECT n.id, n.queue_name, n.priority, timezone('UTC', now()) FROM seen n JOIN released d ON d.job_id = n.id
      ON CONFLICT (job_id) DO NOTHING
)
SELECT 'job:' || d.job_id AS id FROM released d
