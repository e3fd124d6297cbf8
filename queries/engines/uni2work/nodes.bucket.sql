-- Return the parent of the token buckets, and token buckets. Unknown ids return no row.
-- kinds: buckets bucket
-- needs: token_bucket
-- $1 ids text[]: local ids: buckets:all, bucket:ident
-- The table has only a few rows. A bucket with a value of 0 or less throttles until it is refilled, at a rate that only
-- the application knows.
SELECT 'bucket:' || b.ident AS id, 'buckets:all' AS parent_id, NULL::text AS job_id, 'bucket' AS kind,
       b.ident || ' · ' || b.last_value AS title, NULL::text AS status,
       CASE WHEN b.last_value <= 0 THEN 'blocked' ELSE 'ready' END AS phase,
       NULL::int8 AS revision, NULL::float8 AS cpu, NULL::float8 AS poll, NULL::float8 AS created_at,
       extract(epoch FROM b.last_access)::float8 AS changed_at, NULL::float8 AS due_at, NULL::text AS owner,
       NULL::float8 AS heartbeat_at, NULL::int8 AS attempts, NULL::int8 AS max_attempts, NULL::text AS error,
       b.last_value || '@' || b.last_access || ':' || b.xmin AS version, extract(epoch FROM now())::float8 AS now
  FROM :"schema".token_bucket b
 WHERE b.ident::text = ANY (ARRAY(SELECT substr(i, 8) FROM unnest($1::text[]) AS i WHERE i LIKE 'bucket:%'))
UNION ALL
SELECT i, NULL, NULL, 'buckets', 'token buckets · ' || (SELECT count(*) FROM :"schema".token_bucket), NULL,
       CASE WHEN EXISTS (SELECT FROM :"schema".token_bucket WHERE last_value <= 0) THEN 'blocked' ELSE 'ready' END,
       NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '-', extract(epoch FROM now())::float8
  FROM unnest($1::text[]) AS i
 WHERE i = 'buckets:all'
