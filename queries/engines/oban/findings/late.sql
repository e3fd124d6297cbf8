-- Scheduled and retryable jobs whose time has passed, longest first.
-- Index: the one on oban_jobs(state, queue, priority, scheduled_at, id), as a loose index scan; oban_jobs_pkey.
WITH \ir ../parts/late.sql
, pair AS (SELECT min(l.id) AS one, max(l.id) AS other FROM late l WHERE l.unique_key IS NOT NULL GROUP BY l.unique_key HAVING count(*) > 1 ORDER BY 1 LIMIT 1)
, \ir ../parts/late_rows.sql
SELECT * FROM late_rows
