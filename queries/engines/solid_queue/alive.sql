-- Workers, each with its last heartbeat and its queues, of which one may end in "*".
-- Index: none: there is a row for each process; 1,000 at most are read.
SELECT p.name || ' on ' || coalesce(p.hostname, '?') AS worker, extract(epoch FROM p.last_heartbeat_at)::float8 AS seen, p.last_heartbeat_at >= timezone('UTC', now()) - :alive AS alive,
       to_jsonb(string_to_array(regexp_replace(substring(p.metadata FROM '"queues"\s*:\s*"([^"]*)"'), '\s', '', 'g'), ',')) AS serves, true AS only
  FROM :"schema".solid_queue_processes p
 WHERE p.kind = 'Worker'
 ORDER BY p.last_heartbeat_at DESC
 LIMIT 1000
