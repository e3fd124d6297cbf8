-- Scheduled and retryable jobs whose time has passed, longest first.
-- Index: the one on oban_jobs(state, queue, priority, scheduled_at, id), as a loose index scan; oban_jobs_pkey.
WITH RECURSIVE
\ir ../parts/late.sql
pair AS (SELECT a.* FROM alike a)
\ir ../parts/late_rows.sql
