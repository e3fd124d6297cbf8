-- Find jobs and cron entries by id, holders by the start of an instance id, buckets by name, and the oldest jobs by a
-- substring of their content.
-- $1 query text: digits, hexadecimal digits, or a substring
-- $2 page int: maximum number of rows
-- $3 settings jsonb
-- Indexes: queued_job_pkey, cron_last_exec_pkey; ids that do not exist are dropped when nodes are read.
SELECT f.id
  FROM (SELECT sort || ':' || $1::text AS id, 1 AS place FROM unnest(ARRAY['job', 'cron']) AS sort WHERE $1::text ~ '^\d{1,18}$'
        UNION ALL
        SELECT 'bucket:' || $1::text, 2 WHERE $1::text <> ''
        UNION ALL
        SELECT DISTINCT 'holder:' || w.lock_instance, 3
          FROM (SELECT q.lock_instance FROM :"schema".queued_job q ORDER BY q.id LIMIT ($3::jsonb ->> 'window')::float8::int) AS w
         WHERE starts_with(w.lock_instance::text, lower($1::text))
        UNION ALL
        (SELECT 'job:' || w.id, 4
           FROM (SELECT q.id, q.content FROM :"schema".queued_job q ORDER BY q.id LIMIT ($3::jsonb ->> 'head')::float8::int) AS w
          WHERE strpos(lower(w.content::text), lower($1::text)) > 0
          ORDER BY w.id
          LIMIT $2::int)) AS f
 ORDER BY f.place, f.id
 LIMIT $2::int
