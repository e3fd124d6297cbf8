-- Find jobs and cron entries by id, holders by the beginning of an instance id, and buckets by name.
-- Indexes: queued_job_pkey, cron_last_exec_pkey; ids that do not exist are dropped when nodes are read.
SELECT f.id, f.matched
  FROM (SELECT sort || ':' || :query AS id, 'id' AS matched, 1 AS place FROM unnest(ARRAY['job', 'cron']) AS sort WHERE :query ~ '^\d{1,18}$'
        UNION ALL
        SELECT 'bucket:' || :query, 'id', 2 WHERE :query <> ''
        UNION ALL
        SELECT DISTINCT 'holder:' || w.lock_instance, CASE WHEN length(:query) >= 32 THEN 'id' ELSE 'beginning' END, 3
          FROM (SELECT q.lock_instance FROM :"schema".queued_job q ORDER BY q.id LIMIT :window::int) AS w
         WHERE starts_with(w.lock_instance::text, lower(:query))) AS f
 ORDER BY f.place, f.id
 LIMIT :limit
