-- Find jobs and cron entries whose times are ahead of the server's clock.
WITH \ir ../parts/ahead.sql
SELECT a.id, extract(epoch FROM now())::float8 AS since,
       jsonb_build_object('what', a.what, 'instance', coalesce(a.instance, 'not recorded'),
         'time', CASE WHEN isfinite(a.at) THEN date_trunc('second', a.at)::text ELSE 'infinity' END,
         'ahead', CASE WHEN isfinite(a.at) THEN date_trunc('second', a.at - now())::text ELSE 'ever' END) AS evidence
  FROM ahead a
 ORDER BY a.at DESC, a.id
 LIMIT :limit
