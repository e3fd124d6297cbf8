-- Find jobs, cron entries and the first token buckets by name whose times are ahead of the server's clock.
-- needs: token_bucket
WITH \ir ../parts/ahead.sql
SELECT a.id, extract(epoch FROM now())::float8 AS since,
       jsonb_build_object('what', a.what, 'instance', coalesce(a.instance, 'not recorded'),
         'time', CASE WHEN isfinite(a.at) THEN date_trunc('second', a.at)::text ELSE 'infinity' END,
         'ahead', CASE WHEN isfinite(a.at) THEN date_trunc('second', a.at - now())::text ELSE 'ever' END) AS evidence
  FROM (SELECT * FROM ahead
        UNION ALL
        SELECT 'bucket:' || b.ident, 'last use of the bucket ' || b.ident, b.last_access, NULL
          FROM (SELECT ident, last_access FROM :"schema".token_bucket ORDER BY ident::text LIMIT :head::int) AS b
         WHERE b.last_access > now() + :ahead AND (:ids IS NULL OR 'bucket:' || b.ident = ANY (:ids))) AS a
 ORDER BY a.at DESC, a.id
 LIMIT :limit
