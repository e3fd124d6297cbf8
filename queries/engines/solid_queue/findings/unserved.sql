-- Queues whose next job waits because no living worker takes jobs of them.
-- Indexes: one on solid_queue_ready_executions(queue_name, priority, job_id), as a loose index scan; one on
-- solid_queue_processes(last_heartbeat_at); the one on solid_queue_pauses(queue_name).
\ir ../parts/heads.sql
(SELECT 'queue:' || h.name AS id, extract(epoch FROM h.created_at)::float8 AS since,
        jsonb_build_object('queue', h.name, 'age', date_trunc('second', timezone('UTC', now()) - h.created_at)::text, 'workers', CASE WHEN h.workers = 0 THEN 'no worker is alive' ELSE format('the living workers (%s) take jobs of other queues', h.workers) END) AS evidence
   FROM heads h
  WHERE h.paused_at IS NULL AND h.serving = 0 AND h.created_at < timezone('UTC', now()) - :waiting
  ORDER BY h.created_at, h.name
  LIMIT :page)
UNION ALL
SELECT NULL, NULL, NULL WHERE (SELECT count(*) FROM names) > 500
