-- Jobs with old locks among `locked` (locked.sql), and the last activity of each instance in the database: a lock, a job it
-- created, or a cron job it executed. silent: the instance shows no later activity, or none for a very long time.
old_locks AS (
  WITH all_cron AS (SELECT pg_relation_size(format('%I.cron_last_exec', :'schema')::regclass) <= :cron_whole AS few),
\ir signs.sql
  , life AS (
    SELECT s.instance, max(s.at) AS at
      FROM (SELECT l.lock_instance::text AS instance, l.lock_time AS at FROM locked l
            UNION ALL
            SELECT g.instance, g.at FROM signs g
            UNION ALL
            (SELECT c.instance::text, c."time" FROM :"schema".cron_last_exec c
              WHERE 'cron_time_index' = ANY (:met_needs) AND (SELECT a.few FROM all_cron a) IS NOT TRUE -- else signs has them all
              ORDER BY c."time" DESC LIMIT :head::int)) AS s
     WHERE isfinite(s.at)
     GROUP BY s.instance
  )
  SELECT l.*, date_trunc('second', f.at)::text AS last_life, date_trunc('second', now() - f.at)::text AS silence,
         CASE WHEN isfinite(l.lock_time) THEN date_trunc('second', now() - l.lock_time)::text ELSE 'ever' END AS age,
         (f.at IS NULL OR f.at <= l.lock_time + :stale OR f.at < now() - :silent) AS silent, coalesce(l.lock_time < l.creation_time - :ahead, false) AS impossible
    FROM locked l LEFT JOIN life f ON f.instance = l.lock_instance::text
   WHERE l.lock_instance IS NOT NULL AND l.lock_time < now() - :stale AND (:ids IS NULL OR l.id = ANY (:job_keys))
)
