-- Columns of the failed jobs, newest first. :limit is the maximum number of rows.
(SELECT 'job:' || j.id AS id, j.created_at || '|' || j.id AS cursor, 3::int8 AS severity,
        extract(epoch FROM coalesce(j.completed_at, j.updated_at))::float8 AS since,
        'failed'::text AS cause, left(j.error, 300)::text AS error, NULL::text AS was, NULL::text AS is_now,
        to_jsonb(n) AS node
   FROM failed j
\ir node.sql
  ORDER BY j.created_at DESC, j.id DESC
  LIMIT :limit)
