-- Find jobs, cron entries and the first token buckets by name whose times are ahead of the server's clock.
-- needs: token_bucket
\ir ../parts/ahead.sql
  UNION ALL
  SELECT 'bucket:' || b.ident, 'last use', b.last_access, NULL
    FROM (SELECT b.ident, b.last_access FROM :"schema".token_bucket b ORDER BY b.ident::text LIMIT :head::int) AS b
   WHERE b.last_access > (SELECT c.at FROM clock c) AND (:ids IS NULL OR 'bucket:' || b.ident = ANY (:ids))
\ir ../parts/ahead_rows.sql
