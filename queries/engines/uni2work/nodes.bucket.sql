-- Return the parent of the token buckets, and token buckets.
-- kinds: buckets bucket
-- needs: token_bucket
-- A bucket with a value of 0 or less throttles until it is refilled, at a rate that only the application knows.
WITH first AS MATERIALIZED (SELECT b.last_value FROM :"schema".token_bucket b ORDER BY b.ident::text LIMIT :head::int)
SELECT 'bucket:' || b.ident AS id, 'buckets:all' AS parent_id, 'bucket' AS kind, b.ident || ' - ' || b.last_value AS title,
       CASE WHEN b.last_value <= 0 THEN 'blocked' ELSE 'ready' END AS phase, extract(epoch FROM b.last_access)::float8 AS changed_at,
       b.last_value || '@' || b.last_access || ':' || b.xmin AS version, extract(epoch FROM now())::float8 AS now
  FROM :"schema".token_bucket b
 WHERE b.ident::text = ANY (:bucket_keys)
UNION ALL
SELECT i, NULL, 'buckets', 'token buckets - ' || (SELECT count(*) || CASE WHEN count(*) = :head::int THEN '+' ELSE '' END FROM first),
       CASE WHEN EXISTS (SELECT FROM first WHERE last_value <= 0) THEN 'blocked' ELSE 'ready' END,
       NULL, '-', extract(epoch FROM now())::float8
  FROM unnest(:ids) AS i
 WHERE i = 'buckets:all'
