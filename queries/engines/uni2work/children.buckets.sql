-- List the token buckets.
-- needs: token_bucket
-- Index: token_bucket_pkey.
SELECT 'bucket:' || b.ident AS id, b.ident::text AS cursor
  FROM :"schema".token_bucket b
 WHERE :cursor IS NULL OR b.ident::text > :cursor
 ORDER BY b.ident::text
 LIMIT :limit
