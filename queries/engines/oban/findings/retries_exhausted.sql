-- Discarded jobs, oldest first.
-- needs: discarded
-- needs of ids: none
-- Index: one on oban_jobs(discarded_at) of discarded jobs.
\ir ../parts/discarded.sql
