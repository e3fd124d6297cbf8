-- Jobs by a part of their content, among the oldest jobs, and cron entries by a part of their job, among the newest entries.
-- $1 query text: part of a text
-- $2 page int: maximum number of rows
-- $3 settings jsonb: head: number of rows to search
-- Indexes: queued_job_pkey, cron_last_exec_pkey. Contents of more than 64 kB are not searched.
WITH jobs AS MATERIALIZED (
  SELECT q.id, CASE WHEN pg_column_size(q.content) <= 65536 THEN strpos(lower(q.content::text), lower($1::text)) > 0 END AS hit
    FROM :"schema".queued_job q ORDER BY q.id LIMIT ($3::jsonb ->> 'head')::float8::int
),
entries AS MATERIALIZED (
  SELECT c.id, CASE WHEN pg_column_size(c.job) <= 65536 THEN strpos(lower(c.job::text), lower($1::text)) > 0 END AS hit
    FROM :"schema".cron_last_exec c ORDER BY c.id DESC LIMIT ($3::jsonb ->> 'head')::float8::int
)
(SELECT 'job:' || j.id AS id, 'payload' AS matched, NULL::text AS cursor FROM jobs j WHERE j.hit AND $1::text <> '' ORDER BY j.id LIMIT $2::int)
UNION ALL
(SELECT 'cron:' || e.id, 'payload', NULL FROM entries e WHERE e.hit AND $1::text <> '' ORDER BY e.id DESC LIMIT $2::int)
UNION ALL
SELECT NULL, NULL, 'contents of '
       || CASE WHEN (SELECT count(*) FROM jobs) < ($3::jsonb ->> 'head')::float8 THEN 'all queued jobs' ELSE 'the oldest ' || ($3::jsonb ->> 'head')::float8::int || ' queued jobs only' END
       || CASE WHEN (SELECT count(*) FROM entries) < ($3::jsonb ->> 'head')::float8 THEN ' and all cron entries' ELSE ' and the newest ' || ($3::jsonb ->> 'head')::float8::int || ' cron entries only' END
