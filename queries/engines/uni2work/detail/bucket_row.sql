-- title: Bucket, as recorded
-- kinds: bucket
-- $1 id text: local id
-- needs: token_bucket
SELECT b.last_value::text, b.last_access::text,
       'set in the application' AS "depth and rate"
  FROM :"schema".token_bucket b
 WHERE b.ident::text = substr($1::text, 8)
