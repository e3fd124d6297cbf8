-- List cron entries, most recently executed first.
-- kinds: crontab
-- cursor: time|id of the last row of the previous page, or NULL
-- needs: cron_by_time
SELECT 'cron:' || c.id AS id, c."time" || '|' || c.id AS cursor
  FROM :"schema".cron_last_exec c
 WHERE :cursor IS NULL
    OR (c."time", c.id) < (split_part(:cursor, '|', 1)::timestamptz, split_part(:cursor, '|', 2)::int8)
 ORDER BY c."time" DESC, c.id DESC
 LIMIT :limit
