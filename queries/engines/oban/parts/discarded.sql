-- Discarded jobs: those asked for, else the newest, else, of each of 50 queues and priorities, those that were scheduled last. A job
-- is scheduled for each attempt, and discarded soon after the last one. A row without an id: there may be more.
-- Indexes: one on oban_jobs(discarded_at) of discarded jobs, or on oban_jobs(state, discarded_at), else the one on
-- oban_jobs(state, queue, priority, scheduled_at, id), as a loose index scan.
discarded AS MATERIALIZED (
  WITH RECURSIVE leaps AS (
    (SELECT j.queue, j.priority FROM :"schema".oban_jobs j
      WHERE :ids IS NULL AND NOT 'discarded' = ANY (:met_needs) AND j.state = 'discarded' ORDER BY j.queue, j.priority LIMIT 1)
    UNION ALL
    SELECT n.*
      FROM leaps l
     CROSS JOIN LATERAL (SELECT j.queue, j.priority FROM :"schema".oban_jobs j
                          WHERE j.state = 'discarded' AND (j.queue, j.priority) > (l.queue, l.priority) ORDER BY j.queue, j.priority LIMIT 1) AS n
  ),
  places AS MATERIALIZED (SELECT l.* FROM leaps l LIMIT 50),
  newest AS MATERIALIZED (
    SELECT j.id, p.queue, p.priority
      FROM places p
     CROSS JOIN LATERAL (SELECT j.id FROM :"schema".oban_jobs j WHERE j.state = 'discarded' AND j.queue = p.queue AND j.priority = p.priority
                          ORDER BY j.scheduled_at DESC, j.id DESC LIMIT 201) AS j
  )
  (SELECT j.id, j.queue, j.worker, j.attempt, j.errors, j.discarded_at FROM :"schema".oban_jobs j
    WHERE :ids IS NULL AND 'discarded' = ANY (:met_needs) AND j.state = 'discarded' AND j.discarded_at IS NOT NULL
    ORDER BY j.discarded_at DESC, j.id DESC LIMIT :limit)
  UNION ALL
  SELECT j.id, j.queue, j.worker, j.attempt, j.errors, j.discarded_at FROM :"schema".oban_jobs j
   WHERE j.id = ANY (CASE WHEN :ids IS NULL THEN ARRAY(SELECT n.id FROM newest n) ELSE :job_keys END) AND j.state = 'discarded'
  UNION ALL
  SELECT NULL, NULL, NULL, NULL, NULL, NULL
   WHERE (SELECT count(*) FROM places) = 50 OR EXISTS (SELECT FROM newest n GROUP BY n.queue, n.priority HAVING count(*) = 201)
)
