-- Find cron entries not executed within the `period` that the operator configured for the job kind.
-- Index: cron_last_exec_pkey backwards.
-- Read all entries if the table has at most cron_whole bytes, else the newest by id. Read nothing if no period is configured.
SELECT 'cron:' || c.id AS id, extract(epoch FROM c."time")::float8 AS since,
       jsonb_build_object('job', c.job ->> 'job', 'last', date_trunc('second', c."time")::text,
                          'period', make_interval(secs => (:settings -> (c.job ->> 'job') ->> 'period')::float8)::text) AS evidence
  FROM (SELECT a.id, a.job, a."time" FROM :"schema".cron_last_exec a WHERE (SELECT pg_relation_size(format('%I.cron_last_exec', :'schema')::regclass) <= :cron_whole)
        UNION
        (SELECT b.id, b.job, b."time" FROM :"schema".cron_last_exec b ORDER BY b.id DESC LIMIT :head::int)) AS c
 WHERE EXISTS (SELECT FROM jsonb_each(:settings) AS o WHERE jsonb_typeof(o.value) = 'object' AND o.value ? 'period')
   AND jsonb_typeof(c.job -> 'job') = 'string'
   AND jsonb_typeof(:settings -> (c.job ->> 'job')) = 'object'
   AND (:settings -> (c.job ->> 'job') ->> 'period')::float8 > 0
   AND c."time" < now() - make_interval(secs => (:settings -> (c.job ->> 'job') ->> 'period')::float8)
   AND (:ids IS NULL OR 'cron:' || c.id = ANY (:ids))
 ORDER BY c."time", c.id
 LIMIT :limit
