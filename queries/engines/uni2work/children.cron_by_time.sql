-- List cron entries, most recently executed first.
-- kinds: crontab
-- $1 cursor text: time|id of the last row of the previous page, or NULL
-- $2 page int: maximum number of rows
-- needs: cron_by_time
SELECT 'cron:' || c.id AS id, c."time" || '|' || c.id AS cursor
  FROM :"schema".cron_last_exec c
 WHERE $1::text IS NULL
    OR (c."time", c.id) < (split_part($1::text, '|', 1)::timestamptz, split_part($1::text, '|', 2)::int8)
 ORDER BY c."time" DESC, c.id DESC
 LIMIT $2::int
