-- needs: token_bucket
\ir parts/image_rows.sql
UNION ALL
SELECT 'bucket:' || b.ident, b.tableoid, b.ctid::text
  FROM :"schema".token_bucket b
 WHERE b.ident::text = ANY (:bucket_keys)
