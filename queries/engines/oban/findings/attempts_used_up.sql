-- Available jobs that have no attempt left, among the first 20 of each queue: producers skip them, and they take the place of others.
-- Index: the one on oban_jobs(state, queue, priority, scheduled_at, id), as a loose index scan; oban_jobs_pkey.
WITH \ir ../parts/heads.sql
, checked AS MATERIALIZED (
  SELECT j.id, j.queue, j.scheduled_at, j.attempt, j.max_attempts
    FROM (SELECT h.name FROM heads h WHERE :ids IS NULL) AS h
   CROSS JOIN LATERAL (SELECT * FROM :"schema".oban_jobs j WHERE j.state = 'available' AND j.queue = h.name
                        ORDER BY j.priority, j.scheduled_at, j.id LIMIT 20) AS j
  UNION ALL
  SELECT j.id, j.queue, j.scheduled_at, j.attempt, j.max_attempts FROM :"schema".oban_jobs j
   WHERE j.id = ANY (:job_keys) AND j.state = 'available'
)
(SELECT 'job:' || j.id AS id, extract(epoch FROM j.scheduled_at)::float8 AS since, jsonb_build_object('queue', j.queue, 'attempts', j.attempt) AS evidence
  FROM checked j
 WHERE j.attempt >= j.max_attempts
 ORDER BY j.scheduled_at, j.id
 LIMIT :limit)
UNION ALL
(SELECT NULL, NULL, NULL FROM checked c WHERE :ids IS NULL GROUP BY c.queue HAVING count(*) = 20 AND bool_and(c.attempt >= c.max_attempts) LIMIT 1)
UNION ALL
SELECT NULL, NULL, NULL FROM heads h WHERE h.name IS NULL
