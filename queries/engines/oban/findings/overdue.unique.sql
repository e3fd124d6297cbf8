-- Scheduled and retryable jobs whose time has passed, longest first, where Oban Pro keeps unique keys in a column.
-- needs: unique_key
-- Indexes: those of the included part; the one on oban_jobs(uniq_key).
WITH RECURSIVE
\ir ../parts/late.sql
pair AS (
  SELECT l.id AS one, o.id AS other
    FROM late l CROSS JOIN LATERAL (SELECT o.id FROM :"schema".oban_jobs o WHERE o.uniq_key = l.unique_key AND o.id <> l.id LIMIT 1) AS o
   UNION ALL
  SELECT a.* FROM alike a
   LIMIT 1
)
\ir ../parts/late_rows.sql
