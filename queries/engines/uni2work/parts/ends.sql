-- The oldest jobs, and as many of the newest.
-- Index: both ends of queued_job_pkey.
nodes AS (
  SELECT DISTINCT ON (q.job) 'job:' || q.job AS id, q.*
    FROM ((SELECT id AS job, content, creation_instance, creation_time, lock_instance, lock_time FROM :"schema".queued_job ORDER BY id LIMIT :head::int / 2)
          UNION ALL
          (SELECT id, content, creation_instance, creation_time, lock_instance, lock_time FROM :"schema".queued_job ORDER BY id DESC LIMIT (:head::int + 1) / 2)) AS q
   ORDER BY q.job
),
more AS (SELECT EXISTS (SELECT FROM :"schema".queued_job ORDER BY id OFFSET :head::int) AS more)
