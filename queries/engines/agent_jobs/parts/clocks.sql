-- The difference between the worker's clock, which dates completed_at, and the server's clock, which dates updated_at.
-- Returned only if in one of the last 3 ends it is more than 5 seconds, and at 5 times of the last 20 ends the
-- same within 3 seconds: a script that edits old rows makes many different ones.
-- needs: by_created
-- Index: one on jobs(created_at), the newest 2,000 jobs.
ends AS MATERIALIZED (
  SELECT n.completed_at - n.updated_at AS off, row_number() OVER (ORDER BY n.updated_at DESC) AS place, n.completed_at, n.updated_at
    FROM (SELECT status, created_at, completed_at, updated_at, error FROM :"schema".jobs ORDER BY created_at DESC LIMIT 2000) AS n
   WHERE n.status IN ('completed', 'failed') AND isfinite(n.completed_at) AND isfinite(n.updated_at) AND n.updated_at <> n.created_at
     AND coalesce(n.error, '') NOT LIKE '% by operator %'
   ORDER BY n.updated_at DESC
   LIMIT 20
),
nodes AS (
  SELECT 'queue:all' AS id, n.off, date_trunc('second', greatest(n.off, -n.off))::text AS difference, count(*) AS jobs,
         date_trunc('second', max(e.completed_at))::text AS ended, date_trunc('second', max(e.updated_at))::text AS written
    FROM (SELECT o.off FROM ends o WHERE o.place <= 3 AND o.off NOT BETWEEN interval '-5 seconds' AND interval '5 seconds' ORDER BY o.place LIMIT 1) AS n
    JOIN ends e ON e.off BETWEEN n.off - interval '3 seconds' AND n.off + interval '3 seconds'
   GROUP BY n.off
  HAVING count(DISTINCT e.updated_at) >= 5
)
