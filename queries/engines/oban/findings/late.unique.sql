-- Scheduled and retryable jobs whose time has passed, longest first, where Oban Pro keeps unique keys in a column.
-- needs: unique_key
-- Indexes: those of the included part; the one on oban_jobs(uniq_key).
WITH \ir ../parts/late.sql
, pair AS (
  SELECT l.id AS one, o.id AS other
    FROM late l CROSS JOIN LATERAL (SELECT o.id FROM :"schema".oban_jobs o WHERE o.uniq_key = l.unique_key AND o.id <> l.id LIMIT 1) AS o
  UNION ALL
  (SELECT min(l.id) AS one, max(l.id) AS other FROM late l WHERE l.unique_key IS NOT NULL GROUP BY l.unique_key HAVING count(*) > 1 ORDER BY 1 LIMIT 1)
  LIMIT 1
)
, \ir ../parts/late_rows.sql
SELECT * FROM late_rows
