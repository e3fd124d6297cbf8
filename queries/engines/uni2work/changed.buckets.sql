-- Changes since a time: new jobs, locks, executions by cron, token buckets. A row without an id says what was not searched.
-- needs: token_bucket
\ir parts/changes.sql
UNION ALL
(SELECT 'bucket:' || b.ident, extract(epoch FROM b.last_access)::float8, 'accessed', NULL, b.last_value::text, 'bucket', b.last_access || '|' || b.ident
   FROM :"schema".token_bucket b CROSS JOIN c
  WHERE b.last_access >= c.since AND b.last_access <= now() + interval '1 hour' AND (c.bucket IS NULL OR (b.last_access, b.ident::text) < (split_part(c.bucket, '|', 1)::timestamptz, substr(c.bucket, strpos(c.bucket, '|') + 1)))
  ORDER BY b.last_access DESC, b.ident::text DESC
  LIMIT :limit)
