-- Jobs that are paused. Only an executor that polls this table sets jobs to paused.
-- needs: by_user
\set status paused
\ir of_status.sql
