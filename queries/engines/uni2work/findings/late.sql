-- Find jobs that wait too long while nothing shows that workers take any job, but too few wait for "no workers".
-- Index: both ends of queued_job_pkey, the end of cron_last_exec_pkey; one lookup per found row.
WITH \ir ../parts/placed.sql
, \ir ../parts/late.sql
, overdue AS MATERIALIZED (SELECT l.* FROM late l WHERE NOT l.others AND NOT l.in_order ORDER BY l.creation_time, l.id LIMIT :limit),
jobs AS (SELECT o.*, q.content FROM overdue o JOIN :"schema".queued_job q ON q.id = o.id),
\ir ../parts/kinds.sql
(SELECT 'job:' || n.id AS id, extract(epoch FROM n.creation_time)::float8 AS since,
       jsonb_strip_nulls(jsonb_build_object('created_at', date_trunc('second', n.creation_time)::text, 'kind', n.kind,
         'bucket', :settings -> 'throttled_by' ->> (n.content ->> 'job'),
         'age', CASE WHEN isfinite(n.creation_time) THEN date_trunc('second', now() - n.creation_time)::text ELSE 'ever' END)) AS evidence
  FROM kinds n
 ORDER BY n.creation_time, n.id)
UNION ALL
SELECT NULL, NULL, NULL WHERE :ids IS NULL AND EXISTS (SELECT FROM :"schema".queued_job ORDER BY id OFFSET :head::int)
