-- Signs of life of the instances: locks among the oldest and the newest rows, jobs that they created, and cron jobs
-- that they executed. The including file has `all_cron` (few), whether all of cron_last_exec is read. Its size is
-- compared once, or a table that grows could be read not at all.
-- Indexes: both ends of queued_job_pkey; all of cron_last_exec, or its newest entries.
signs AS (
  SELECT 'locks' AS what, w.lock_instance::text AS instance, w.lock_time AS at, w.id AS job
    FROM (SELECT o.id, o.lock_instance, o.lock_time FROM :"schema".queued_job o ORDER BY o.id LIMIT :window::int) AS w
  UNION ALL
  (SELECT 'locks', o.lock_instance::text, o.lock_time, o.id FROM :"schema".queued_job o ORDER BY o.id DESC LIMIT :head::int)
  UNION ALL
  (SELECT 'queued jobs', o.creation_instance::text, o.creation_time, NULL FROM :"schema".queued_job o ORDER BY o.id DESC LIMIT :head::int)
  UNION ALL
  (SELECT 'cron executions', c.instance::text, c."time", NULL FROM :"schema".cron_last_exec c WHERE (SELECT a.few FROM all_cron a) IS NOT TRUE
    ORDER BY c.id DESC LIMIT :head::int)
  UNION ALL
  SELECT 'cron executions', c.instance::text, c."time", NULL FROM :"schema".cron_last_exec c WHERE (SELECT a.few FROM all_cron a)
)
