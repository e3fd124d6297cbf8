-- Jobs, queues and workers by id, one row for each that exists. The times of a job come from 100 of its events at most:
-- with more, only its creation is known.
-- met_needs: without todo_by_lock, a job to do is blocked only by a running one
-- Indexes: procrastinate_jobs_pkey, procrastinate_events_job_id_fkey_v1, procrastinate_jobs_lock_idx_v1, one on (lock,
-- priority DESC, id) of jobs to do; procrastinate_jobs_queue_name_idx_v1; procrastinate_workers_pkey.
WITH \ir parts/locks.sql
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
  CROSS JOIN LATERAL (
    SELECT min(v.at) FILTER (WHERE v.type = 'deferred') AS created,
           CASE WHEN count(*) < 100 THEN max(v.at) FILTER (WHERE v.type <> 'scheduled') END AS changed, -- of the schedule, not its own
           CASE WHEN count(*) < 100 THEN max(v.at) FILTER (WHERE v.type IN ('deferred', 'deferred_for_retry', 'retried')) END AS queued
      FROM (SELECT x.type, x.at FROM :"schema".procrastinate_events x
             WHERE x.job_id >= j.id AND x.job_id <= j.id ORDER BY x.job_id LIMIT 100) AS v -- a range in the order of the index: see dead.sql
  ) AS e
  LEFT JOIN LATERAL ( -- the job that keeps it from its lock: the one that runs, else the first one to do
    SELECT o.id
      FROM ((SELECT d.id, 1 AS place FROM :"schema".procrastinate_jobs d WHERE d.status = 'doing' AND d.lock = j.lock LIMIT 1)
            UNION ALL
            SELECT (l.first ->> j.lock)::int8, 2 FROM locks l WHERE l.first ? j.lock
            UNION ALL
            (SELECT t.id, 2 FROM :"schema".procrastinate_jobs t
              WHERE 'todo_by_lock' = ANY (:met_needs) AND NOT 'jobs_scan' = ANY (:met_needs) AND t.status = 'todo' AND t.lock = j.lock
              ORDER BY t.priority DESC, t.id LIMIT 1)) AS o
     WHERE o.id <> j.id
     ORDER BY o.place
     LIMIT 1
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
