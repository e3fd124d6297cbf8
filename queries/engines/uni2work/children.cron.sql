-- List cron entries in the order of their first execution.
-- kinds: crontab
-- $1 cursor text: last id of the previous page, or NULL
-- $2 page int: maximum number of rows
-- Index: cron_last_exec_pkey.
SELECT 'cron:' || c.id AS id, c.id::text AS cursor
  FROM :"schema".cron_last_exec c
 WHERE $1::text IS NULL OR c.id > $1::text::int8
 ORDER BY c.id
 LIMIT $2::int
