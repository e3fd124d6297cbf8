-- Queues whose first ready job is due for long, while no job of the queue runs or has started since. The first ready
-- job is among the first 100 to do; starts are looked for in the 50 jobs before it and in the newest 50 of the queue,
-- and running jobs among 5,000. If there are more, the finding says so.
-- needs: todo_by_queue, job_by_queue, doing
-- Indexes: one on (queue_name, priority DESC, id) of jobs to do, one on (queue_name, id),
-- procrastinate_jobs_lock_idx_v1, procrastinate_events_job_id_fkey_v1, idx_procrastinate_workers_last_heartbeat. A loose index scan over 500 queues.
WITH RECURSIVE leaps AS (
  (SELECT j.queue_name AS name FROM :"schema".procrastinate_jobs j WHERE :ids IS NULL AND j.status = 'todo' ORDER BY j.queue_name LIMIT 1)
  UNION ALL
  SELECT (SELECT j.queue_name FROM :"schema".procrastinate_jobs j WHERE j.status = 'todo' AND j.queue_name > l.name ORDER BY j.queue_name LIMIT 1)
    FROM leaps l WHERE l.name IS NOT NULL
),
queues AS MATERIALIZED (
  (SELECT l.name::text AS name FROM leaps l WHERE l.name IS NOT NULL LIMIT 500)
  UNION ALL
  SELECT DISTINCT substr(i, 7) FROM unnest(:ids) AS i WHERE i LIKE 'queue:%'
),
doing AS MATERIALIZED (SELECT j.queue_name, j.lock FROM :"schema".procrastinate_jobs j WHERE j.status = 'doing' ORDER BY j.lock LIMIT 5000),
asked AS MATERIALIZED (
  SELECT q.name, f.id, f.scheduled_at
    FROM queues q
   CROSS JOIN LATERAL (
         SELECT t.id, t.scheduled_at
           FROM (SELECT j.id, j.priority, j.lock, j.scheduled_at FROM :"schema".procrastinate_jobs j
                  WHERE j.status = 'todo' AND j.queue_name = q.name ORDER BY j.priority DESC, j.id LIMIT 100) AS t
          WHERE (t.scheduled_at IS NULL OR t.scheduled_at <= now()) AND (t.lock IS NULL OR t.lock NOT IN (SELECT d.lock FROM doing d WHERE d.lock IS NOT NULL))
          ORDER BY t.priority DESC, t.id LIMIT 1) AS f
   WHERE q.name NOT IN (SELECT d.queue_name FROM doing d)
),
-- Number of living workers, as a sentence.
alive AS MATERIALIZED (
  SELECT CASE count(*) WHEN 0 THEN 'No worker is alive' WHEN 1 THEN 'One worker is alive; its queues are not recorded'
                       ELSE 'Living workers: ' || CASE count(*) WHEN 1000 THEN '1,000 or more' ELSE count(*)::text END || '; their queues are not recorded' END AS text
    FROM (SELECT FROM :"schema".procrastinate_workers w
           WHERE w.last_heartbeat >= now() - :worker_silent LIMIT 1000) AS o
)
, \ir ../parts/times.sql
(SELECT 'queue:' || r.name AS id, extract(epoch FROM d.due)::float8 AS since,
        jsonb_build_object('queue', r.name, 'oldest', date_trunc('second', d.due)::text, 'workers', (SELECT a.text FROM alive a)
           || CASE WHEN (SELECT count(*) FROM doing) = 5000 THEN '. Only 5,000 of the running jobs were read: one of the queue may run' ELSE '' END) AS evidence
   FROM times r
  CROSS JOIN LATERAL (SELECT coalesce(r.scheduled_at, r.queued) AS due) AS d
  WHERE d.due < now() - :not_served
    AND NOT EXISTS (SELECT FROM ((SELECT n.id FROM :"schema".procrastinate_jobs n WHERE n.queue_name = r.name AND n.id < r.id ORDER BY n.id DESC LIMIT 50)
                                 UNION ALL
                                 (SELECT n.id FROM :"schema".procrastinate_jobs n WHERE n.queue_name = r.name ORDER BY n.id DESC LIMIT 50)) AS j
                     CROSS JOIN LATERAL (
                           SELECT CASE WHEN count(*) < 100 THEN max(v.at) FILTER (WHERE v.type = 'started') END AS started
                             FROM (SELECT x.type, x.at FROM :"schema".procrastinate_events x
                                    WHERE x.job_id >= j.id AND x.job_id <= j.id ORDER BY x.job_id LIMIT 100) AS v) AS s WHERE s.started >= d.due)
  ORDER BY d.due, r.name
  LIMIT :limit)
UNION ALL
SELECT NULL, NULL, NULL WHERE (SELECT count(*) FROM queues) = 500
