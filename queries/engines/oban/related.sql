-- Jobs that the same producer executes. No job waits for another. A row without id: not all are known, and why.
-- Indexes: oban_jobs_pkey; the one on oban_jobs(state, queue, priority, scheduled_at, id), 2,001 rows.
WITH given AS MATERIALIZED (
  SELECT j.attempted_by FROM :"schema".oban_jobs j
   WHERE j.state = 'executing' AND j.id = ANY (:job_keys)
),
executing AS MATERIALIZED (
  SELECT j.id, j.attempted_by FROM :"schema".oban_jobs j
   WHERE j.state = 'executing' AND EXISTS (SELECT FROM given) ORDER BY j.queue, j.priority, j.scheduled_at, j.id LIMIT 2001
)
(SELECT 'job:' || e.id AS id, 'sibling' AS relation, 'jobs that the same producer executes' AS note
   FROM executing e WHERE e.attempted_by IN (SELECT attempted_by FROM given) AND 'job:' || e.id <> ALL (:ids) LIMIT :limit)
UNION ALL
SELECT NULL, 'sibling', 'only the first 2,000 executing jobs were searched' WHERE (SELECT count(*) FROM executing) > 2000
