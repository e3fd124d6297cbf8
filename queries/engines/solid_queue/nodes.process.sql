-- Workers, dispatchers, schedulers and supervisors by id.
-- Index: solid_queue_processes_pkey.
SELECT 'process:' || p.id AS id, NULL::text AS parent_id, 'process' AS kind,
       p.kind || ' ' || p.id || coalesce(' - ' || p.hostname, '') || ' - pid ' || p.pid AS title,
       CASE WHEN p.last_heartbeat_at < timezone('UTC', now()) - :alive THEN 'silent' ELSE 'alive' END AS status,
       extract(epoch FROM p.created_at)::float8 AS created_at, extract(epoch FROM p.last_heartbeat_at)::float8 AS changed_at,
       extract(epoch FROM p.last_heartbeat_at)::float8 AS heartbeat_at,
       p.xmin::text AS version, extract(epoch FROM now())::float8 AS now
  FROM :"schema".solid_queue_processes p
 WHERE p.id = ANY (:process_keys)
