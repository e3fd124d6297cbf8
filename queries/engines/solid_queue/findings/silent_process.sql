-- Processes without a heartbeat for longer than the threshold, longest first.
-- Index: one on solid_queue_processes(last_heartbeat_at).
SELECT 'process:' || p.id AS id, extract(epoch FROM p.last_heartbeat_at)::float8 AS since,
       jsonb_build_object('owner', p.id::text, 'process', p.kind || coalesce(' on ' || p.hostname, '') || ', pid ' || p.pid,
         'age', date_trunc('second', timezone('UTC', now()) - p.last_heartbeat_at)::text,
         'supervisor', CASE WHEN EXISTS (SELECT FROM (SELECT o.kind FROM :"schema".solid_queue_processes o WHERE o.last_heartbeat_at >= timezone('UTC', now()) - :alive
                                                       ORDER BY o.last_heartbeat_at DESC LIMIT 1000) AS s WHERE s.kind LIKE 'Supervisor%')
                            THEN 'A supervisor has a recent heartbeat, but has not' ELSE 'No supervisor has a recent heartbeat, so none has' END) AS evidence
  FROM :"schema".solid_queue_processes p
 WHERE p.last_heartbeat_at < timezone('UTC', now()) - :alive
   AND (:ids IS NULL OR p.id = ANY (:process_keys))
 ORDER BY p.last_heartbeat_at
 LIMIT :limit
