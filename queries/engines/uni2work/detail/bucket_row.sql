-- title: Bucket, as recorded
-- kinds: bucket
-- needs: token_bucket
SELECT b.last_value::text, b.last_access::text,
       'set in the application' AS "depth and rate"
  FROM :"schema".token_bucket b
 WHERE b.ident::text = substr(:id, 8)
