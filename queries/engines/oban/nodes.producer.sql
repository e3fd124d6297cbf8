-- Producers by id: each takes the jobs of one queue for one node.
-- needs: producers
SELECT 'producer:' || p.uuid AS id, NULL::text AS parent_id, 'producer' AS kind, p.queue || ' - ' || p.node AS title,
       CASE WHEN p.updated_at < timezone('UTC', now()) - :alive THEN 'silent'
            WHEN p.meta ->> 'paused' = 'true' THEN 'paused' ELSE 'alive' END AS status,
       extract(epoch FROM p.started_at)::float8 AS created_at, extract(epoch FROM p.updated_at)::float8 AS changed_at,
       extract(epoch FROM p.updated_at)::float8 AS heartbeat_at,
       p.xmin::text AS version, extract(epoch FROM now())::float8 AS now
  FROM :"schema".oban_producers p
 WHERE 'producer:' || p.uuid = ANY (:ids)
