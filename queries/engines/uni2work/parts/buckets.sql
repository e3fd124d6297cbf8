-- The first token buckets by name. The application has a few.
-- needs: token_bucket
-- Index: token_bucket_pkey.
nodes AS MATERIALIZED (
  SELECT 'bucket:' || b.ident AS id, b.ident::text AS bucket, b.last_value, b.last_access
    FROM :"schema".token_bucket b ORDER BY b.ident::text LIMIT :head::int
),
more AS (SELECT count(*) = :head::int AS more FROM nodes)
