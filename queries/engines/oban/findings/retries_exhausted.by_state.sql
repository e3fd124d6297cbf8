-- Discarded jobs, newest first.
-- needs: by_discarded
-- Index: one on oban_jobs(state, discarded_at).
\ir ../parts/discarded.sql
