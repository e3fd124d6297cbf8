-- Executing jobs that their own producer does not list as running, although it has beaten since it took them.
-- needs: producers
\ir executing_jobs.sql
, nodes AS (
  SELECT 'job:' || j.id AS id, j.attempted_at, p.node
    FROM executing j JOIN :"schema".oban_producers p ON p.uuid = CASE WHEN j.attempted_by[2] ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' THEN j.attempted_by[2]::uuid END
   WHERE p.updated_at >= timezone('UTC', now()) - :alive AND p.updated_at > j.attempted_at + interval '1 minute'
     AND jsonb_typeof(p.meta -> 'running') = 'array' AND NOT p.meta -> 'running' @> to_jsonb(j.id)
),
more AS (SELECT (SELECT count(*) FROM executing) > 2000 AS more)
