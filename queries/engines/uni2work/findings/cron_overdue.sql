-- Find cron entries not executed within the `period` that the operator configured for the job kind.
-- kinds: cron
-- $1 ids text[]: restrict to these local ids; NULL for all
-- $2 settings jsonb
-- $3 page int: maximum number of rows
-- Index: cron_last_exec_pkey backwards.
-- Read all entries if the table has at most cron_whole bytes, else the newest by id. Read nothing if no period is configured.
SELECT 'cron:' || c.id AS id, extract(epoch FROM c."time")::float8 AS since,
       jsonb_build_object('job', c.job ->> 'job', 'last', date_trunc('second', c."time")::text,
                          'period', make_interval(secs => ($2::jsonb -> (c.job ->> 'job') ->> 'period')::float8)::text) AS evidence
  FROM (SELECT a.id, a.job, a."time" FROM :"schema".cron_last_exec a WHERE (SELECT pg_relation_size(format('%I.cron_last_exec', :'schema')::regclass) <= ($2::jsonb ->> 'cron_whole')::float8)
        UNION
        (SELECT b.id, b.job, b."time" FROM :"schema".cron_last_exec b ORDER BY b.id DESC LIMIT ($2::jsonb ->> 'head')::float8::int)) AS c
 WHERE EXISTS (SELECT FROM jsonb_each($2::jsonb) AS o WHERE jsonb_typeof(o.value) = 'object' AND o.value ? 'period')
   AND jsonb_typeof(c.job -> 'job') = 'string'
   AND jsonb_typeof($2::jsonb -> (c.job ->> 'job')) = 'object'
   AND ($2::jsonb -> (c.job ->> 'job') ->> 'period')::float8 > 0
   AND c."time" < now() - make_interval(secs => ($2::jsonb -> (c.job ->> 'job') ->> 'period')::float8)
   AND ($1::text[] IS NULL OR 'cron:' || c.id = ANY ($1::text[]))
 ORDER BY c."time", c.id
 LIMIT $3::int
