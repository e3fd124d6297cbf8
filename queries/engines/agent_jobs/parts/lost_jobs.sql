-- Pending jobs from before a restart of the queue's counter: they were lost with the data of Redis. A job that a newer
-- job had overtaken long before the restart was lost earlier, by another cause. Nothing is reported before a job ended
-- after the restart. With table as the profile there is no Redis.
-- needs: by_user, by_agent, by_created
\ir users.sql
, \ir late.sql
, \ir restarts.sql
,
more AS (SELECT (SELECT count(*) FROM late) = 2000 OR NOT ARRAY['unfinished', 'jobs_scan'] && :met_needs AND (SELECT count(*) FROM users) = 500 AS more),
nodes AS (
  SELECT 'job:' || l.id AS id, l.job_id, l.created_at, r.at, r.job_id AS first, r.before
    FROM late l
   CROSS JOIN LATERAL (SELECT o.* FROM restarts o WHERE o.at > l.created_at ORDER BY o.at LIMIT 1) AS r
   WHERE :settings ->> 'profile' = 'mirror'
     AND (r.reused OR r.ended) AND (r.passed > l.created_at) IS NOT TRUE
)
