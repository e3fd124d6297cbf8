-- Queues whose next job waits because every producer of the queue is paused.
-- needs: producers
-- Index: the one on oban_jobs(state, queue, priority, scheduled_at, id), as a loose index scan.
\ir ../parts/heads.sql
\ir ../parts/producers.sql
(SELECT 'queue:' || h.name AS id, extract(epoch FROM h.scheduled_at)::float8 AS since,
        jsonb_build_object('queue', h.name, 'age', date_trunc('second', timezone('UTC', now()) - h.scheduled_at)::text, 'producers', s.producers) AS evidence
   FROM heads h
   LEFT JOIN served s ON s.queue = h.name
  WHERE h.scheduled_at < timezone('UTC', now()) - :waiting AND s.paused
  ORDER BY h.scheduled_at, h.name
  LIMIT :page)
UNION ALL
SELECT NULL, NULL, NULL WHERE (SELECT count(*) FROM names) > 500
