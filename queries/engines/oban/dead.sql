-- Discarded jobs, newest first.
-- needs: discarded
-- cursor: discarded_at|id of the last row of the previous page, or NULL
-- Index: one on oban_jobs(discarded_at) of discarded jobs.
\ir parts/dead.sql
