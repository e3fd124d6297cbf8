-- Discarded jobs, oldest first.
-- needs: by_discarded
-- needs of ids: none
-- Index: one on oban_jobs(state, discarded_at).
\ir ../parts/discarded.sql
