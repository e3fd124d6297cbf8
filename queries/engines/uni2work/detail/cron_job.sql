-- title: Job
-- kinds: cron
-- $1 id text: local id
-- $2 bytes int: maximum number of bytes to return
-- Index: cron_last_exec_pkey.
SELECT substring(convert_to(c.job::text, 'UTF8') FOR $2::int) AS payload, octet_length(c.job::text)::int8 AS size
  FROM :"schema".cron_last_exec c
 WHERE c.id = substr($1::text, 6)::int8
