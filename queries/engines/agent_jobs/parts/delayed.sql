-- Jobs that are delayed. Only an executor that polls this table sets jobs to delayed.
-- needs: by_user
\set status delayed
\ir of_status.sql
