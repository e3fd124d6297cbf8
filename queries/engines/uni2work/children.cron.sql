-- Cron entries in the order in which they were first executed.
-- kinds: crontab
-- $1 cursor text: the last id of the page before, or NULL
-- $2 page int: how many at most
-- Index: cron_last_exec_pkey.
SELECT 'cron:' || c.id AS id, c.id::text AS cursor
  FROM :"schema".cron_last_exec c
 WHERE $1::text IS NULL OR c.id > $1::text::int8
 ORDER BY c.id
 LIMIT $2::int
