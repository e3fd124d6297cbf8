-- Jobs that are due for long and that no worker has taken.
-- needs: todo
-- needs of ids: none
-- met_needs: without todo_by_lock, a job is blocked only by a running one
-- Indexes: procrastinate_jobs_priority_idx_v1, procrastinate_events_job_id_fkey_v1, procrastinate_jobs_lock_idx_v1, one on
-- (lock, priority DESC, id) of jobs to do, idx_procrastinate_workers_last_heartbeat.
WITH
\ir ../parts/locks.sql
,
\ir ../parts/first.sql
,
\ir ../parts/alive.sql
(SELECT 'job:' || j.id AS id, extract(epoch FROM d.due)::float8 AS since,
        jsonb_strip_nulls(jsonb_build_object(
          'queue', j.queue_name, 'due', date_trunc('second', d.due)::text, 'holder', b.id::text,
          'look', CASE WHEN b.id IS NOT NULL THEN 'The job ' || b.id || ' comes first: it has the lock ' || j.lock
                       ELSE (SELECT a.text FROM alive a) END)) AS evidence
   FROM first j
\ir ../parts/times.sql
  CROSS JOIN LATERAL (SELECT coalesce(j.scheduled_at, e.queued) AS due) AS d
   LEFT JOIN LATERAL (
\ir ../parts/blocker.sql
        ) AS b ON true
  WHERE d.due < now() - :overdue
  ORDER BY j.priority DESC, j.id
  LIMIT :limit)
UNION ALL
SELECT NULL, NULL, NULL WHERE (SELECT count(*) FROM first) = 5000
