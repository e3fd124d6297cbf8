-- Find empty buckets. The application refills a bucket when it next uses it, at a rate that is not in the database.
-- needs: token_bucket
-- The table has only a few rows.
SELECT 'bucket:' || b.ident AS id, extract(epoch FROM b.last_access)::float8 AS since,
       jsonb_build_object('bucket', b.ident::text, 'value', b.last_value::text, 'last_access', date_trunc('second', b.last_access)::text,
                          'age', CASE WHEN isfinite(b.last_access) THEN date_trunc('second', now() - b.last_access)::text ELSE 'ever' END) AS evidence
  FROM :"schema".token_bucket b
 WHERE b.last_value <= 0
   AND (:ids IS NULL OR 'bucket:' || b.ident = ANY (:ids))
 ORDER BY b.last_access, b.ident
 LIMIT :page
