-- Return the parent of the cron entries, and cron entries.
-- kinds: crontab cron
-- Index: cron_last_exec_pkey.
WITH jobs AS (
  SELECT c.id, c.job AS content, c."time", c.instance, c.xmin AS row_version FROM :"schema".cron_last_exec c WHERE c.id = ANY (:cron_keys)
),
\ir parts/kinds.sql
SELECT 'cron:' || c.id AS id, 'crontab:all' AS parent_id, 'cron' AS kind,
       c.kind || coalesce(' ' || left(nullif((CASE WHEN jsonb_typeof(c.content) = 'object' THEN c.content - 'job' END)::text, '{}'), 80), '') AS title,
       'done' AS phase, extract(epoch FROM c."time")::float8 AS changed_at, c.instance::text AS owner,
       c.row_version::text AS version, extract(epoch FROM now())::float8 AS now
  FROM kinds c
UNION ALL
SELECT i, NULL, 'crontab',
       'cron - ' || CASE WHEN n.n > :head::int THEN :head::int || '+' ELSE n.n::text END || ' last executions',
       'done', NULL, NULL, '-', extract(epoch FROM now())::float8
  FROM unnest(:ids) AS i
 CROSS JOIN LATERAL (SELECT count(*) AS n FROM (SELECT FROM :"schema".cron_last_exec WHERE i IS NOT NULL ORDER BY id LIMIT :head::int + 1) AS c) AS n
 WHERE i = 'crontab:all'
