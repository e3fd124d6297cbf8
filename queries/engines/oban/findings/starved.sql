-- Queues whose next job waits for longer than the threshold.
-- Index: the one on oban_jobs(state, queue, priority, scheduled_at, id), as a loose index scan.
\ir ../parts/heads.sql
(SELECT 'queue:' || h.name AS id, extract(epoch FROM h.scheduled_at)::float8 AS since,
        jsonb_build_object('queue', h.name, 'age', date_trunc('second', timezone('UTC', now()) - h.scheduled_at)::text) AS evidence
   FROM heads h
  WHERE h.scheduled_at < timezone('UTC', now()) - :starved
  ORDER BY h.scheduled_at, h.name
  LIMIT :page)
UNION ALL
SELECT NULL, NULL, NULL WHERE (SELECT count(*) FROM names) > 500
