-- Jobs, queues and workers by id, one row for each that exists. The times of a job come from 100 of its events at most:
-- with more, only its creation is known.
-- met_needs: without todo_by_lock, a job to do is blocked only by a running one
-- Indexes: procrastinate_jobs_pkey, procrastinate_events_job_id_fkey_v1, procrastinate_jobs_lock_idx_v1, one on (lock,
-- priority DESC, id) of jobs to do; procrastinate_jobs_queue_name_idx_v1; procrastinate_workers_pkey.
WITH
\ir parts/locks.sql
SELECT 'job:' || j.id AS id, 'queue:' || j.queue_name AS parent_id, 'job' AS kind, j.task_name::text AS title,
       j.status::text AS status,
       CASE WHEN j.status <> 'todo' THEN NULL WHEN j.scheduled_at > now() THEN 'scheduled' WHEN b.id IS NOT NULL THEN 'blocked' ELSE 'ready' END AS phase,
       extract(epoch FROM e.created)::float8 AS created_at, extract(epoch FROM e.changed)::float8 AS changed_at,
       CASE WHEN j.status = 'todo' THEN extract(epoch FROM coalesce(j.scheduled_at, e.queued))::float8 END AS due_at,
       CASE WHEN j.status = 'doing' THEN j.worker_id::text END AS owner,
       CASE WHEN j.status = 'doing' THEN extract(epoch FROM w.last_heartbeat)::float8 END AS heartbeat_at,
       j.attempts::int8 AS attempts, j.xmin::text AS version, extract(epoch FROM now())::float8 AS now
  FROM :"schema".procrastinate_jobs j
  LEFT JOIN :"schema".procrastinate_workers w ON w.id = j.worker_id
\ir parts/times.sql
  LEFT JOIN LATERAL (
\ir parts/blocker.sql
       ) AS b ON j.status = 'todo'
 WHERE j.id = ANY (:job_keys)
UNION ALL
SELECT 'queue:' || q.name, NULL, 'queue', q.name, NULL,
       CASE WHEN o.running THEN 'running' ELSE 'ready' END, NULL, NULL, NULL, NULL, NULL, NULL, '-', extract(epoch FROM now())::float8
  FROM (SELECT DISTINCT substr(i, 7) AS name FROM unnest(:ids) AS i WHERE i LIKE 'queue:%') AS q
 CROSS JOIN LATERAL (SELECT EXISTS (SELECT FROM :"schema".procrastinate_jobs j WHERE j.queue_name = q.name) AS known,
                            EXISTS (SELECT FROM (SELECT j.queue_name FROM :"schema".procrastinate_jobs j WHERE j.status = 'doing' ORDER BY j.lock LIMIT 1000) AS d
                                     WHERE d.queue_name = q.name) AS running) AS o
 WHERE o.known
UNION ALL
SELECT 'worker:' || w.id, NULL, 'worker', 'worker ' || w.id, CASE WHEN a.alive THEN 'beating' ELSE 'silent' END,
       NULL, NULL, NULL, NULL, NULL, extract(epoch FROM w.last_heartbeat)::float8, NULL, '-', extract(epoch FROM now())::float8
  FROM :"schema".procrastinate_workers w
 CROSS JOIN LATERAL (SELECT w.last_heartbeat >= now() - :worker_silent AS alive) AS a
 WHERE w.id = ANY (:worker_keys)
