-- Queues that have jobs and come after the cursor `2|name`, by a loose index scan of each state.
queues AS (
  SELECT (SELECT min(o.queue) FROM unnest(enum_range(NULL:::"schema".oban_job_state)) AS s(state)
           CROSS JOIN LATERAL (SELECT j.queue FROM :"schema".oban_jobs j
                                WHERE j.state = s.state AND (l.name IS NULL OR j.queue > l.name) ORDER BY j.queue LIMIT 1) AS o) AS name
    FROM (SELECT CASE WHEN :cursor LIKE '2|%' THEN substr(:cursor, 3) END AS name) AS l
  UNION ALL
  SELECT (SELECT min(o.queue) FROM unnest(enum_range(NULL:::"schema".oban_job_state)) AS s(state)
           CROSS JOIN LATERAL (SELECT j.queue FROM :"schema".oban_jobs j WHERE j.state = s.state AND j.queue > q.name ORDER BY j.queue LIMIT 1) AS o)
    FROM queues q WHERE q.name IS NOT NULL
)
