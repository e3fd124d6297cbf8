-- Scheduled and retryable jobs whose time has passed. Without ids, of at most 500 queues and priorities; a row without an id
-- if there are more.
-- Index: the one on oban_jobs(state, queue, priority, scheduled_at, id), as a loose index scan; oban_jobs_pkey.
late AS MATERIALIZED (
  WITH RECURSIVE leaps AS (
    SELECT s.state, j.queue, j.priority
      FROM unnest(enum_range(NULL:::"schema".oban_job_state)) AS s(state)
     CROSS JOIN LATERAL (SELECT j.queue, j.priority FROM :"schema".oban_jobs j WHERE j.state = s.state ORDER BY j.queue, j.priority LIMIT 1) AS j
     WHERE :ids IS NULL AND s.state::text IN ('scheduled', 'retryable')
    UNION ALL
    SELECT l.state, j.queue, j.priority
      FROM leaps l
     CROSS JOIN LATERAL (SELECT j.queue, j.priority FROM :"schema".oban_jobs j
                          WHERE j.state = l.state AND (j.queue, j.priority) > (l.queue, l.priority) ORDER BY j.queue, j.priority LIMIT 1) AS j
  ),
  lanes AS MATERIALIZED (SELECT l.* FROM leaps l LIMIT 501)
  SELECT j.id, j.state, j.queue, j.scheduled_at, j.meta ->> 'uniq_key' AS unique_key
    FROM (SELECT l.* FROM lanes l LIMIT 500) AS l
   CROSS JOIN LATERAL (SELECT * FROM :"schema".oban_jobs j
                        WHERE j.state = l.state AND j.queue = l.queue AND j.priority = l.priority
                          AND j.scheduled_at < timezone('UTC', now()) - :overdue
                        ORDER BY j.queue, j.priority, j.scheduled_at LIMIT :limit) AS j
  UNION ALL
  SELECT j.id, j.state, j.queue, j.scheduled_at, j.meta ->> 'uniq_key' FROM :"schema".oban_jobs j
   WHERE j.id = ANY (:job_keys)
     AND j.state::text IN ('scheduled', 'retryable')
     AND j.scheduled_at < timezone('UTC', now()) - :overdue
  UNION ALL
  SELECT NULL, NULL, NULL, NULL, NULL WHERE (SELECT count(*) FROM lanes) > 500
)
