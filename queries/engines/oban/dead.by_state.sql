-- Discarded jobs, newest first.
-- needs: by_discarded
-- cursor: discarded_at|id of the last row of the previous page, or NULL
-- Index: one on oban_jobs(state, discarded_at).
\ir parts/dead.sql
