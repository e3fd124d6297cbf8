-- title: Location of the job
-- kinds: job queue
-- Index: jobs_pkey.
SELECT :settings ->> 'profile' AS profile,
       CASE :settings ->> 'profile' WHEN 'table' THEN 'this table, polled by an executor'
            ELSE 'Redis: Bull keeps file, lock, attempts and result; this table mirrors creation and end' END AS "where",
       CASE WHEN :settings ->> 'profile' = 'table' THEN NULL
            WHEN :id = 'queue:all' THEN 'redis-cli EXISTS bull:file-ingestion:meta-paused'
            ELSE (SELECT 'redis-cli HGETALL bull:file-ingestion:' || j.job_id FROM :"schema".jobs j
                   WHERE j.id = CASE WHEN :id LIKE 'job:%' THEN substr(:id, 5)::uuid END
                     AND j.job_id ~ '^[A-Za-z0-9_-]+$') END AS "command to check"
