-- Jobs that are scheduled for later and are the first of their lock, while due jobs wait behind them: workers take jobs
-- of one lock in order, whatever their times are. A short delay, such as that of a retry, is no finding.
-- needs: todo, todo_by_lock
-- Indexes: procrastinate_jobs_priority_idx_v1, procrastinate_jobs_lock_idx_v1, one on (lock, priority DESC, id) of jobs to do.
WITH \ir ../parts/locks.sql
, -- The first 5,000 jobs to do, in the order in which workers take them, or those that are asked for.
asked AS MATERIALIZED (
  (SELECT j.id, j.queue_name, j.priority, j.lock, j.scheduled_at FROM :"schema".procrastinate_jobs j
    WHERE :ids IS NULL AND j.status = 'todo' ORDER BY j.priority DESC, j.id LIMIT 5000)
  UNION ALL
  SELECT j.id, j.queue_name, j.priority, j.lock, j.scheduled_at FROM :"schema".procrastinate_jobs j
   WHERE j.status = 'todo' AND j.id = ANY (:job_keys)
)
, \ir ../parts/times.sql
, \ir ../parts/waiting.sql
(SELECT 'job:' || j.id AS id, NULL::float8 AS since,
        jsonb_build_object('scheduled_at', date_trunc('second', j.scheduled_at)::text, 'waiting', j.waiting, 'lock', j.lock, 'resource', 'job:' || j.id) AS evidence
   FROM waiting j
  WHERE j.lock IS NOT NULL AND j.scheduled_at > now() + :late AND j.n > 0
    -- It is the first of its lock: none runs, and none to do comes before it.
    AND (SELECT d.id FROM :"schema".procrastinate_jobs d WHERE d.status = 'doing' AND d.lock = j.lock LIMIT 1) IS NULL
    AND coalesce((SELECT (l.first ->> j.lock)::int8 FROM locks l),
                 (SELECT t.id FROM :"schema".procrastinate_jobs t
                   WHERE 'todo_by_lock' = ANY (:met_needs) AND NOT 'jobs_scan' = ANY (:met_needs) AND t.status = 'todo' AND t.lock = j.lock
                   ORDER BY t.priority DESC, t.id LIMIT 1), j.id) = j.id
  ORDER BY j.priority DESC, j.id
  LIMIT :limit)
UNION ALL
SELECT NULL, NULL, NULL WHERE (SELECT count(*) FROM asked) = 5000
