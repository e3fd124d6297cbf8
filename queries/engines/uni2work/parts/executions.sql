-- events: executions of cron entries by kind. A kind has an interval if its entries do, for example one for each
-- iteration. All entries if the table has at most cron_whole bytes, else the newest by id.
-- Index: cron_last_exec_pkey backwards.
events AS MATERIALIZED (
  SELECT c.job ->> 'job' AS key, 'cron:' || c.id AS id, c."time" AS at
    FROM (SELECT a.id, a.job, a."time" FROM :"schema".cron_last_exec a WHERE (SELECT pg_relation_size(format('%I.cron_last_exec', :'schema')::regclass) <= :cron_whole)
          UNION ALL
          (SELECT b.id, b.job, b."time" FROM :"schema".cron_last_exec b
            WHERE (SELECT pg_relation_size(format('%I.cron_last_exec', :'schema')::regclass) > :cron_whole)
            ORDER BY b.id DESC LIMIT :head::int)) AS c
   WHERE isfinite(c."time") AND jsonb_typeof(c.job -> 'job') = 'string'
)
