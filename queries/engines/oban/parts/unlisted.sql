-- Executing jobs that their own producer does not list as running, although it has beaten since it took them.
-- needs: producers
\ir executing_jobs.sql
, producers AS MATERIALIZED ( -- read once, not searched for each job
  SELECT p.uuid::text AS uuid, p.node, p.updated_at, p.meta -> 'running' AS running FROM :"schema".oban_producers p
   WHERE p.updated_at >= timezone('UTC', now()) - :alive AND jsonb_typeof(p.meta -> 'running') = 'array'
),
nodes AS (
  SELECT 'job:' || j.id AS id, j.attempted_at, p.node
    FROM executing j JOIN producers p ON p.uuid = j.attempted_by[2]
   WHERE p.updated_at > j.attempted_at + interval '1 minute' AND NOT p.running @> to_jsonb(j.id)
),
more AS (SELECT (SELECT count(*) FROM executing) > 2000 AS more)
