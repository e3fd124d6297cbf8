-- Jobs by a part of their content, among the oldest jobs, and cron entries by a part of their job, among the newest
-- entries.
-- bytes: values that take more are not searched
-- Indexes: queued_job_pkey, cron_last_exec_pkey. Contents that take more than 64 kB are not searched; the last row
-- counts their rows.
WITH jobs AS MATERIALIZED (
  SELECT q.id, CASE WHEN pg_column_size(q.content) <= :bytes THEN strpos(lower(q.content::text), lower(:query)) > 0 END AS hit
    FROM :"schema".queued_job q ORDER BY q.id LIMIT :head::int
),
entries AS MATERIALIZED (
  SELECT c.id, CASE WHEN pg_column_size(c.job) <= :bytes THEN strpos(lower(c.job::text), lower(:query)) > 0 END AS hit
    FROM :"schema".cron_last_exec c ORDER BY c.id DESC LIMIT :head::int
)
(SELECT 'job:' || j.id AS id, 'payload' AS matched, NULL::text AS cursor FROM jobs j WHERE j.hit AND :query <> '' ORDER BY j.id LIMIT :limit)
UNION ALL
(SELECT 'cron:' || e.id, 'payload', NULL FROM entries e WHERE e.hit AND :query <> '' ORDER BY e.id DESC LIMIT :limit)
UNION ALL
SELECT NULL, NULL, 'contents of '
       || CASE WHEN (SELECT count(*) FROM jobs) < :head THEN 'all queued jobs' ELSE 'the oldest ' || :head::int || ' queued jobs only' END
       || CASE WHEN (SELECT count(*) FROM entries) < :head THEN ' and all cron entries' ELSE ' and the newest ' || :head::int || ' cron entries only' END
       || (SELECT CASE count(*) WHEN 0 THEN '' ELSE ', without values of more than 64 kB in ' || count(*) || ' of them' END
             FROM (SELECT FROM jobs WHERE hit IS NULL UNION ALL SELECT FROM entries WHERE hit IS NULL) AS l)
