-- The jobs of `page`, which the including file has, with xmin and ctid: each with its cursor and its node, which has
-- the columns of nodes.sql.
page_nodes AS (
  SELECT j.*, j.created_at || '|' || j.id AS cursor, to_jsonb(n) AS node
    FROM page j
   CROSS JOIN LATERAL (
         SELECT 'job:' || j.id AS id,
                CASE :settings ->> 'group' WHEN 'user' THEN 'user:' || j.user_id ELSE 'agent:' || j.agent_id END AS parent_id,
                'job' AS kind, 'job ' || j.job_id AS title, j.status::text AS status, NULL::text AS phase,
                extract(epoch FROM j.created_at)::float8 AS created_at, extract(epoch FROM j.updated_at)::float8 AS changed_at, j.error::text AS error,
                j.xmin::text AS version, extract(epoch FROM now())::float8 AS now,
                j.ctid::text AS place) AS n
)
