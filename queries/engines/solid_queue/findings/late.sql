-- Scheduled jobs that are overdue, longest first.
-- Indexes: one on solid_queue_scheduled_executions(scheduled_at), the one on job_id, one on solid_queue_processes(last_heartbeat_at).
WITH dispatchers AS MATERIALIZED (
  SELECT count(*) AS n
    FROM (SELECT p.kind FROM :"schema".solid_queue_processes p
           WHERE p.last_heartbeat_at >= timezone('UTC', now()) - :alive
           ORDER BY p.last_heartbeat_at DESC LIMIT 1000) AS p
   WHERE p.kind = 'Dispatcher'
)
SELECT 'job:' || s.job_id AS id, extract(epoch FROM s.scheduled_at)::float8 AS since,
       jsonb_build_object('due', date_trunc('second', s.scheduled_at)::text, 'queue', s.queue_name,
         'age', date_trunc('second', timezone('UTC', now()) - s.scheduled_at)::text,
         'dispatchers', CASE d.n WHEN 0 THEN 'No dispatcher is alive' WHEN 1 THEN 'A dispatcher is alive and does not take it'
                                 ELSE d.n || ' dispatchers are alive and do not take it' END,
         'todo', CASE d.n WHEN 0 THEN 'Start a dispatcher: bin/jobs. Only a dispatcher makes scheduled jobs ready.'
                          ELSE 'Read the log of the dispatcher: it may fail at a job that is due.' END) AS evidence
  FROM ((SELECT * FROM :"schema".solid_queue_scheduled_executions s
          WHERE :ids IS NULL AND s.scheduled_at < timezone('UTC', now()) - :overdue
          ORDER BY s.scheduled_at LIMIT :limit)
        UNION ALL
        SELECT * FROM :"schema".solid_queue_scheduled_executions s
         WHERE s.job_id = ANY (:job_keys)
           AND s.scheduled_at < timezone('UTC', now()) - :overdue) AS s
 CROSS JOIN dispatchers d
 ORDER BY s.scheduled_at, s.job_id
 LIMIT :limit
