-- Queues with available jobs, each with its next job and its living producers.
-- needs: producers
-- Index: the one on oban_jobs(state, queue, priority, scheduled_at, id), as a loose index scan.
\ir heads.sql
, \ir started.sql
, served AS MATERIALIZED (
  SELECT p.queue, count(*) AS producers, bool_and(coalesce(p.meta ->> 'paused', 'false') = 'true') AS paused, min(p.updated_at) AS since
    FROM :"schema".oban_producers p
   WHERE p.updated_at >= timezone('UTC', now()) - :alive
   GROUP BY p.queue
),
nodes AS (
  SELECT 'queue:' || h.name AS id, h.name, h.scheduled_at, s.producers, s.paused FROM heads h LEFT JOIN served s ON s.queue = h.name
),
more AS (SELECT EXISTS (SELECT FROM heads h WHERE h.name IS NULL) AS more),
unjudged AS (
  SELECT s.why FROM started s WHERE EXISTS (SELECT FROM nodes n WHERE n.producers IS NULL AND n.scheduled_at < timezone('UTC', now()) - :waiting)
)
