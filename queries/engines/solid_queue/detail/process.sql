-- title: Process (times in UTC)
-- kinds: process
-- Indexes: solid_queue_processes_pkey, one on solid_queue_claimed_executions(process_id).
SELECT p.name::text AS name, p.hostname::text AS host, p.pid, p.supervisor_id AS supervisor, p.last_heartbeat_at::text AS "last heartbeat",
       p.metadata, (SELECT count(*) FROM (SELECT FROM :"schema".solid_queue_claimed_executions c WHERE c.process_id = p.id LIMIT 1000) AS o) AS "claimed jobs"
  FROM :"schema".solid_queue_processes p
 WHERE p.id = substr(:id, 9)::int8
