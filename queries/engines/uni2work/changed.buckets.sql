-- Changes since a time: new jobs, locks, executions by cron, token buckets. A row without an id says what was not searched.
-- needs: token_bucket
-- $1 since float8: seconds since 1970
-- $2 cursor text: JSON object with the last place of each part on the previous page, or NULL
-- $3 page int
-- $4 settings jsonb: window and head: number of rows to read at an end of a table
-- $5 met_needs text[]
-- Indexes: queued_job_pkey backwards, because ids are in the order of creation; one on queued_job(lock_time) if it exists, else
-- the window of the oldest jobs; one on cron_last_exec(time) if it exists, else the head of cron_last_exec_pkey backwards. The
-- table of token buckets has only a few rows.
WITH
\ir parts/changes.sql
UNION ALL
(SELECT 'bucket:' || b.ident, extract(epoch FROM b.last_access)::float8, 'accessed', NULL, b.last_value::text, 'bucket', b.last_access || '|' || b.ident
   FROM :"schema".token_bucket b CROSS JOIN c
  WHERE b.last_access >= c.since AND b.last_access <= now() + interval '1 hour' AND (c.bucket IS NULL OR (b.last_access, b.ident::text) < (split_part(c.bucket, '|', 1)::timestamptz, substr(c.bucket, strpos(c.bucket, '|') + 1)))
  ORDER BY b.last_access DESC, b.ident::text DESC
  LIMIT $3::int)
