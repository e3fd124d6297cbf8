-- Find jobs and cron entries by id, holders by the beginning of an instance id, and buckets by name.
-- $1 query text: digits, hexadecimal digits, or a name
-- $2 page int: maximum number of rows
-- $3 settings jsonb
-- Indexes: queued_job_pkey, cron_last_exec_pkey; ids that do not exist are dropped when nodes are read.
SELECT f.id, f.matched
  FROM (SELECT sort || ':' || $1::text AS id, 'id' AS matched, 1 AS place FROM unnest(ARRAY['job', 'cron']) AS sort WHERE $1::text ~ '^\d{1,18}$'
        UNION ALL
        SELECT 'bucket:' || $1::text, 'id', 2 WHERE $1::text <> ''
        UNION ALL
        SELECT DISTINCT 'holder:' || w.lock_instance, CASE WHEN length($1::text) >= 32 THEN 'id' ELSE 'beginning' END, 3
          FROM (SELECT q.lock_instance FROM :"schema".queued_job q ORDER BY q.id LIMIT ($3::jsonb ->> 'window')::float8::int) AS w
         WHERE starts_with(w.lock_instance::text, lower($1::text))) AS f
 ORDER BY f.place, f.id
 LIMIT $2::int
