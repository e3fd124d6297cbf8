-- needs: token_bucket
WITH \ir parts/images.sql
SELECT i.id, i.relation, i.place FROM images i
UNION ALL
SELECT 'bucket:' || b.ident, b.tableoid, b.ctid::text
  FROM :"schema".token_bucket b
 WHERE b.ident::text = ANY (:bucket_keys)
