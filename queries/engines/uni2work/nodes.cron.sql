-- Return the parent of the cron entries, and cron entries. Unknown ids return no row.
-- kinds: crontab cron
-- $1 ids text[]: local ids: crontab:all, cron:id
-- $2 settings jsonb
-- Index: cron_last_exec_pkey.
SELECT 'cron:' || c.id AS id, 'crontab:all' AS parent_id, NULL::text AS job_id, 'cron' AS kind,
       left(coalesce(CASE WHEN jsonb_typeof(c.job -> 'job') = 'string' THEN nullif(c.job ->> 'job', '') END,
                     CASE WHEN jsonb_typeof(c.job -> 'tag') = 'string' THEN nullif(c.job ->> 'tag', '') END,
                     CASE WHEN jsonb_typeof(c.job) = 'object'
                          THEN (SELECT nullif(k, '') FROM jsonb_object_keys(c.job) AS k LIMIT 1) END,
                     '(unrecognised)'), 80)
         || coalesce(' ' || left(nullif((CASE WHEN jsonb_typeof(c.job) = 'object' THEN c.job - 'job' END)::text, '{}'), 80), '') AS title,
       NULL::text AS status, 'done' AS phase, NULL::int8 AS revision, NULL::float8 AS cpu, NULL::float8 AS poll,
       NULL::float8 AS created_at, extract(epoch FROM c."time")::float8 AS changed_at, NULL::float8 AS due_at,
       c.instance::text AS owner, NULL::float8 AS heartbeat_at, NULL::int8 AS attempts, NULL::int8 AS max_attempts,
       NULL::text AS error, c."time" || ':' || c.xmin AS version, extract(epoch FROM now())::float8 AS now
  FROM :"schema".cron_last_exec c
 WHERE c.id = ANY (ARRAY(SELECT substr(i, 6)::int8 FROM unnest($1::text[]) AS i WHERE i ~ '^cron:\d{1,18}$'))
UNION ALL
SELECT i, NULL, NULL, 'crontab',
       'cron · ' || CASE WHEN n.n > ($2::jsonb ->> 'head')::float8::int THEN ($2::jsonb ->> 'head')::float8::int || '+' ELSE n.n::text END || ' last executions',
       NULL, 'done', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '-', extract(epoch FROM now())::float8
  FROM unnest($1::text[]) AS i
 CROSS JOIN LATERAL (SELECT count(*) AS n FROM (SELECT FROM :"schema".cron_last_exec WHERE i IS NOT NULL ORDER BY id LIMIT ($2::jsonb ->> 'head')::float8::int + 1) AS c) AS n
 WHERE i = 'crontab:all'
