-- Restarts of the queue's counter, because Redis was emptied.
-- needs: by_created
-- Indexes: one on jobs(created_at), the newest 2,000 jobs; jobs_job_id_key, at most 50 jobs.
WITH
\ir ../parts/restarts.sql
SELECT 'job:' || r.id AS id, extract(epoch FROM r.at)::float8 AS since,
       jsonb_build_object('job_id', r.job_id, 'before', r.before::text, 'at', date_trunc('second', r.at)::text,
                          'what', CASE WHEN r.reused THEN 'The old row with the job id ' || r.job_id || ' was completed again at ' || date_trunc('second', r.at) || ', after the job ' || r.before
                                       ELSE 'The job''s id is ' || r.job_id || ', and the id of the job before it is ' || r.before END) AS evidence
  FROM restarts r
 WHERE :ids IS NULL OR 'job:' || r.id = ANY (:ids)
 ORDER BY r.at DESC, r.id
 LIMIT :limit
