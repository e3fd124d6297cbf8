-- Producers, each with its last beat and its queue.
-- needs: producers
-- Index: none: there is a row for each queue of a node; 1,000 at most are read.
SELECT p.node || ' ' || left(p.uuid::text, 8) AS worker, extract(epoch FROM p.updated_at)::float8 AS seen, p.updated_at >= timezone('UTC', now()) - :alive AS alive,
       jsonb_build_array(p.queue) AS serves, true AS only
  FROM :"schema".oban_producers p
 ORDER BY p.updated_at DESC
 LIMIT 1000
