-- Queues by name, each with its number of available jobs, up to 1,000.
-- Index: the one on oban_jobs(state, queue, priority, scheduled_at, id).
SELECT q.id, NULL::text AS parent_id, 'queue' AS kind,
       q.name || CASE WHEN n.ready > 1000 THEN ' - 1,000+ available' WHEN n.ready > 0 THEN ' - ' || n.ready || ' available' ELSE '' END AS title,
       CASE WHEN n.ready > 0 THEN 'ready' ELSE 'done' END AS phase, '-' AS version, extract(epoch FROM now())::float8 AS now
  FROM (SELECT i AS id, substr(i, 7) AS name FROM unnest(:ids) AS i WHERE i LIKE 'queue:%') AS q
 CROSS JOIN LATERAL (SELECT count(*) AS ready
                       FROM (SELECT FROM :"schema".oban_jobs j WHERE j.state = 'available' AND j.queue = q.name LIMIT 1001) AS o) AS n
 WHERE EXISTS (SELECT FROM unnest(enum_range(NULL:::"schema".oban_job_state)) AS s(state)
                CROSS JOIN LATERAL (SELECT FROM :"schema".oban_jobs j WHERE j.state = s.state AND j.queue = q.name LIMIT 1) AS o)
