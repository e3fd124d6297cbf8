-- Changes since a time: new jobs, locks, executions by cron, token buckets. A row without an id says what was not
-- searched.
-- needs: token_bucket
WITH \ir parts/changes.sql
SELECT * FROM changes
UNION ALL
(SELECT 'bucket:' || b.ident, extract(epoch FROM b.last_access)::float8, 'accessed', NULL, b.last_value::text, 'bucket', b.last_access || '|' || b.ident, true
   FROM :"schema".token_bucket b CROSS JOIN (SELECT :cursor::text::jsonb ->> 'bucket' AS place) AS c
  WHERE b.last_access >= to_timestamp(:since) AND b.last_access <= now() + interval '1 hour'
    AND (c.place IS NULL OR (b.last_access, b.ident::text) < (split_part(c.place, '|', 1)::timestamptz, substr(c.place, strpos(c.place, '|') + 1)))
  ORDER BY b.last_access DESC, b.ident::text DESC
  LIMIT :limit)
