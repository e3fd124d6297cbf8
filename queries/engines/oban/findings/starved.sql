-- Queues whose next job waits for longer than the threshold.
-- Index: the one on oban_jobs(state, queue, priority, scheduled_at, id), as a loose index scan.
WITH \ir ../parts/heads.sql
(SELECT 'queue:' || h.name AS id, extract(epoch FROM h.scheduled_at)::float8 AS since,
        jsonb_build_object('queue', h.name, 'age', date_trunc('second', timezone('UTC', now()) - h.scheduled_at)::text,
          'running', (SELECT CASE count(*) WHEN 0 THEN 'No job of it is executing'
                             ELSE CASE count(*) WHEN 1 THEN 'One job of it is' WHEN 20 THEN 'At least 20 jobs of it are' ELSE count(*) || ' jobs of it are' END
                                  || ' executing, the first since ' || date_trunc('second', min(e.attempted_at)) || ' UTC' END
                        FROM (SELECT j.attempted_at FROM :"schema".oban_jobs j WHERE j.state = 'executing' AND j.queue = h.name
                               ORDER BY j.priority, j.scheduled_at, j.id LIMIT 20) AS e)) AS evidence
   FROM heads h
  WHERE h.scheduled_at < timezone('UTC', now()) - :starved
  ORDER BY h.scheduled_at, h.name
  LIMIT :limit)
UNION ALL
SELECT NULL, NULL, NULL FROM heads h WHERE h.name IS NULL
