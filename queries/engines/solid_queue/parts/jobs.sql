-- These jobs, each with its execution and the process that claimed it. The status of a job is the table that holds its execution.
jobs AS (
  SELECT j.id, j.queue_name, j.priority, j.class_name, j.concurrency_key, j.arguments, j.created_at, j.finished_at, j.ctid AS place,
         greatest(j.updated_at, r.created_at, c.created_at, f.created_at, b.created_at, s.created_at) AS changed_at,
         r.id AS ready, c.id AS claimed, f.id AS failed, b.id AS blocked, s.id AS scheduled,
         coalesce(s.scheduled_at, r.created_at) AS due_at, c.created_at AS claimed_at, f.error, b.concurrency_key AS waits_for,
         c.process_id, p.id AS process, p.kind, p.hostname, p.pid, p.last_heartbeat_at AS beat,
         p.id IS NULL OR p.last_heartbeat_at < timezone('UTC', now()) - :alive AS worker_dead,
         CASE WHEN j.finished_at IS NOT NULL THEN 'finished' WHEN r.id IS NOT NULL THEN 'ready' WHEN c.id IS NOT NULL THEN 'claimed'
              WHEN f.id IS NOT NULL THEN 'failed' WHEN b.id IS NOT NULL THEN 'blocked' WHEN s.id IS NOT NULL THEN 'scheduled'
              ELSE 'no execution' END AS status,
         concat_ws('/', j.xmin, 'r' || r.xmin, 'c' || c.xmin, 'f' || f.xmin, 'b' || b.xmin, 's' || s.xmin) AS version
    FROM :"schema".solid_queue_jobs j
    LEFT JOIN :"schema".solid_queue_ready_executions r ON r.job_id = j.id
    LEFT JOIN :"schema".solid_queue_claimed_executions c ON c.job_id = j.id
    LEFT JOIN :"schema".solid_queue_failed_executions f ON f.job_id = j.id
    LEFT JOIN :"schema".solid_queue_blocked_executions b ON b.job_id = j.id
    LEFT JOIN :"schema".solid_queue_scheduled_executions s ON s.job_id = j.id
    LEFT JOIN :"schema".solid_queue_processes p ON p.id = c.process_id
   WHERE j.id = ANY (:job_keys)
)
