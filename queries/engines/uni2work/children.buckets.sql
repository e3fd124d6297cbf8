-- List the token buckets.
-- needs: token_bucket
-- The table has only a few rows.
SELECT 'bucket:' || b.ident AS id, b.ident::text AS cursor
  FROM :"schema".token_bucket b
 WHERE :cursor IS NULL OR b.ident::text COLLATE "C" > :cursor COLLATE "C"
 ORDER BY b.ident::text COLLATE "C"
 LIMIT :page
