-- List cron entries in the order of their first execution.
-- kinds: crontab
-- Index: cron_last_exec_pkey.
SELECT 'cron:' || c.id AS id, c.id::text AS cursor
  FROM :"schema".cron_last_exec c
 WHERE :cursor IS NULL OR c.id > :cursor::text::int8
 ORDER BY c.id
 LIMIT :limit
