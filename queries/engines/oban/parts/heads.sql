-- Queues with available jobs, at most 500, each with its next job; a row without a name if there are more.
heads AS MATERIALIZED (
  WITH RECURSIVE leaps AS (
    (SELECT j.queue FROM :"schema".oban_jobs j WHERE :ids IS NULL AND j.state = 'available' ORDER BY j.queue LIMIT 1)
    UNION ALL
    SELECT (SELECT j.queue FROM :"schema".oban_jobs j WHERE j.state = 'available' AND j.queue > l.queue ORDER BY j.queue LIMIT 1)
      FROM leaps l WHERE l.queue IS NOT NULL
  ),
  names AS MATERIALIZED (
    (SELECT l.queue AS name FROM leaps l WHERE l.queue IS NOT NULL LIMIT 501)
    UNION ALL
    SELECT substr(i, 7) FROM unnest(:ids) AS i WHERE i LIKE 'queue:%'
  )
  SELECT n.name, h.id, h.scheduled_at, h.attempt, h.max_attempts
    FROM (SELECT n.name FROM names n LIMIT 500) AS n
   CROSS JOIN LATERAL (SELECT j.id, j.scheduled_at, j.attempt, j.max_attempts FROM :"schema".oban_jobs j
                        WHERE j.state = 'available' AND j.queue = n.name ORDER BY j.priority, j.scheduled_at, j.id LIMIT 1) AS h
  UNION ALL
  SELECT NULL, NULL, NULL, NULL, NULL WHERE (SELECT count(*) FROM names) > 500
)
