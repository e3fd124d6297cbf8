-- :lock
SELECT 'job:' || j.id AS id, j.xmin::text AS version
  FROM :"schema".oban_jobs j
 WHERE j.id = ANY (:job_keys)
 ORDER BY j.id
   FOR UPDATE SKIP LOCKED
