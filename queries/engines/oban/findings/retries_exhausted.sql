-- Discarded jobs, newest first.
-- needs: discarded
-- Index: one on oban_jobs(discarded_at) of discarded jobs.
\ir ../parts/discarded.sql
