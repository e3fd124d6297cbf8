-- Jobs that wait for the lock of these jobs, and the one that waits with their queueing lock. A row without id: not all
-- are known, and why.
-- Indexes: the primary key; procrastinate_jobs_priority_idx_v1, 5,000 rows; procrastinate_jobs_queueing_lock_idx_v1.
WITH given AS MATERIALIZED (
  SELECT j.id, j.lock, j.queueing_lock FROM :"schema".procrastinate_jobs j
   WHERE j.id = ANY (:job_keys)
),
first AS MATERIALIZED (
  SELECT j.id, j.lock FROM :"schema".procrastinate_jobs j
   WHERE j.status = 'todo' AND 'todo' = ANY (:met_needs) AND EXISTS (SELECT FROM given g WHERE g.lock IS NOT NULL)
   ORDER BY j.priority DESC, j.id LIMIT 5000
)
(SELECT 'job:' || f.id AS id, 'waiter' AS relation, 'jobs with the same lock, of which one runs at a time' AS note
   FROM first f WHERE f.lock IN (SELECT g.lock FROM given g) AND f.id NOT IN (SELECT g.id FROM given g) LIMIT :limit)
UNION ALL
(SELECT 'job:' || j.id, 'sibling', 'waits with the same queueing lock, and only one may'
   FROM :"schema".procrastinate_jobs j
  WHERE j.status = 'todo' AND j.queueing_lock = ANY (ARRAY(SELECT g.queueing_lock FROM given g))
    AND j.id <> ALL (ARRAY(SELECT g.id FROM given g)) LIMIT :limit)
UNION ALL
SELECT NULL, 'waiter', 'only the first 5,000 jobs to do were searched' WHERE (SELECT count(*) FROM first) = 5000
UNION ALL
SELECT NULL, 'waiter', 'the engine''s index procrastinate_jobs_priority_idx_v1 is missing'
 WHERE EXISTS (SELECT FROM given g WHERE g.lock IS NOT NULL) AND NOT 'todo' = ANY (:met_needs)
