-- Jobs that are scheduled for later and are the first of their lock, while due jobs wait behind them: workers take jobs
-- of one lock in order, whatever their times are. A short delay, such as that of a retry, is no finding.
-- needs: todo, todo_by_lock
-- Indexes: procrastinate_jobs_priority_idx_v1, procrastinate_jobs_lock_idx_v1, one on (lock, priority DESC, id) of jobs to do.
WITH
\ir ../parts/locks.sql
,
\ir ../parts/first.sql
(SELECT 'job:' || j.id AS id, NULL::float8 AS since,
        jsonb_build_object('scheduled_at', date_trunc('second', j.scheduled_at)::text, 'waiting', n.text, 'lock', j.lock, 'holder', j.id::text) AS evidence
   FROM first j
\ir ../parts/waiting.sql
  WHERE j.lock IS NOT NULL AND j.scheduled_at > now() + :overdue AND n.n > 0
    AND NOT EXISTS (
\ir ../parts/blocker.sql
        )
  ORDER BY j.priority DESC, j.id
  LIMIT :limit)
UNION ALL
SELECT NULL, NULL, NULL WHERE (SELECT count(*) FROM first) = 5000
