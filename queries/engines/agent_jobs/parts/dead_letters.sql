-- The jobs of `failed`, which the including file has, newest first.
dead_letters AS (
  WITH page AS (SELECT f.* FROM failed f ORDER BY f.created_at DESC, f.id DESC LIMIT :limit),
\ir page_nodes.sql
  SELECT 'job:' || n.id AS id, n.cursor, 3::int8 AS severity,
         extract(epoch FROM coalesce(n.completed_at, n.updated_at))::float8 AS since,
         'failed'::text AS cause, left(n.error, 300)::text AS error, NULL::text AS was, NULL::text AS is_now, n.node
    FROM page_nodes n
   ORDER BY n.created_at DESC, n.id DESC
)
