-- Cron entries with the `period` that the operator configured for the job kind. All entries if the table has at most
-- cron_whole bytes, else the newest by id. Nothing is read if no period is configured.
-- Index: cron_last_exec_pkey backwards.
nodes AS (
  SELECT 'cron:' || c.id AS id, c.id AS entry, c.job ->> 'job' AS job, c."time" AS last,
         make_interval(secs => (:settings -> (c.job ->> 'job') ->> 'period')::float8) AS period
    FROM (SELECT a.id, a.job, a."time" FROM :"schema".cron_last_exec a WHERE (SELECT pg_relation_size(format('%I.cron_last_exec', :'schema')::regclass) <= :cron_whole)
          UNION
          (SELECT b.id, b.job, b."time" FROM :"schema".cron_last_exec b ORDER BY b.id DESC LIMIT :head::int)) AS c
   WHERE EXISTS (SELECT FROM jsonb_each(:settings) AS o WHERE jsonb_typeof(o.value) = 'object' AND o.value ? 'period')
     AND jsonb_typeof(c.job -> 'job') = 'string' AND jsonb_typeof(:settings -> (c.job ->> 'job')) = 'object'
)
