-- Jobs that are delayed. Only an executor that polls this table sets jobs to delayed.
-- needs: by_user
wanted AS NOT MATERIALIZED (SELECT 'delayed' AS status)
, \ir users.sql
, \ir of_status.sql
,
more AS (SELECT :settings ->> 'profile' = 'table' AND ((SELECT count(*) FROM nodes) = 2000
     OR NOT ARRAY['unfinished', 'jobs_scan'] && :met_needs AND (SELECT count(*) FROM users) = 500) AS more)
