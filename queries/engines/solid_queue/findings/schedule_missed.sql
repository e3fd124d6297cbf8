-- Recurring tasks that have not run for longer than twice the longest of their last 10 intervals.
-- Indexes: the one on solid_queue_recurring_tasks(key), at most 500 tasks; the one on
-- solid_queue_recurring_executions(task_key, run_at); one on solid_queue_processes(last_heartbeat_at).
WITH tasks AS MATERIALIZED (
  (SELECT t.key FROM :"schema".solid_queue_recurring_tasks t WHERE :ids IS NULL ORDER BY t.key LIMIT 501)
  UNION ALL
  SELECT t.key FROM :"schema".solid_queue_recurring_tasks t
   WHERE t.key = ANY (:recurring_keys)
),
runs AS (
  SELECT t.key, max(e.run_at) AS last, max(e.run_at - e.before) AS period
    FROM (SELECT t.key FROM tasks t LIMIT 500) AS t
   CROSS JOIN LATERAL (SELECT e.run_at, lead(e.run_at) OVER (ORDER BY e.run_at DESC) AS before
                         FROM (SELECT e.run_at FROM :"schema".solid_queue_recurring_executions e
                                WHERE e.task_key = t.key AND isfinite(e.run_at) ORDER BY e.run_at DESC LIMIT 11) AS e) AS e
   GROUP BY t.key
)
(SELECT 'recurring:' || r.key AS id, extract(epoch FROM r.last + r.period)::float8 AS since,
        jsonb_build_object('task', r.key, 'last', date_trunc('second', r.last)::text, 'period', date_trunc('second', r.period)::text,
          'schedulers', CASE s.n WHEN 0 THEN 'No scheduler is alive' WHEN 1 THEN 'A scheduler is alive and has not enqueued it'
                                 ELSE s.n || ' schedulers are alive and have not enqueued it' END,
          'todo', CASE s.n WHEN 0 THEN 'Start a scheduler: bin/jobs. Only a scheduler enqueues recurring tasks.'
                           ELSE 'Read the log of the scheduler: it may fail at this task.' END) AS evidence
   FROM runs r
  CROSS JOIN (SELECT count(*) FILTER (WHERE p.kind = 'Scheduler') AS n
                FROM (SELECT p.kind FROM :"schema".solid_queue_processes p
                       WHERE p.last_heartbeat_at >= timezone('UTC', now()) - :alive
                       ORDER BY p.last_heartbeat_at DESC LIMIT 1000) AS p) AS s
  WHERE timezone('UTC', now()) - r.last > greatest(2 * r.period, :missed)
  ORDER BY r.last, r.key
  LIMIT :limit)
UNION ALL
SELECT NULL, NULL, NULL WHERE (SELECT count(*) FROM tasks) > 500
