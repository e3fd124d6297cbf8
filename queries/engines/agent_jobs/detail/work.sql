-- title: Location of the job
-- kinds: job queue
-- $1 id text: local id
-- $2 settings jsonb
-- Index: jobs_pkey.
SELECT $2::jsonb ->> 'profile' AS profile,
       CASE $2::jsonb ->> 'profile' WHEN 'table' THEN 'this table, polled by an executor'
            ELSE 'Redis: Bull keeps file, lock, attempts and result; this table mirrors creation and end' END AS "where",
       CASE WHEN $2::jsonb ->> 'profile' = 'table' THEN NULL
            WHEN $1::text = 'queue:all' THEN 'redis-cli EXISTS bull:file-ingestion:meta-paused'
            ELSE (SELECT 'redis-cli HGETALL bull:file-ingestion:' || j.job_id FROM :"schema".jobs j
                   WHERE j.id = CASE WHEN $1::text LIKE 'job:%' THEN substr($1::text, 5)::uuid END
                     AND j.job_id ~ '^[A-Za-z0-9_-]+$') END AS "command to check"
