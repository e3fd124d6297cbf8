-- Restarts of the queue's counter, because Redis was emptied.
-- needs: by_created
-- Indexes: one on jobs(created_at), the newest 2,000 jobs; jobs_job_id_key, at most 50 jobs.
\ir restarts.sql
, nodes AS (SELECT 'job:' || r.id AS id, r.job_id, r.at, r.before, r.reused FROM restarts r)
