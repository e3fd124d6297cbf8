-- Find jobs, cron entries and token buckets whose times are ahead of the server's clock. token_bucket has only a few rows.
-- needs: token_bucket
\ir ../parts/ahead.sql
  UNION ALL
  SELECT 'bucket:' || b.ident, 'last use', b.last_access, NULL FROM :"schema".token_bucket b
   WHERE b.last_access > (SELECT c.at FROM clock c) AND (:ids IS NULL OR 'bucket:' || b.ident = ANY (:ids))
\ir ../parts/ahead_rows.sql
