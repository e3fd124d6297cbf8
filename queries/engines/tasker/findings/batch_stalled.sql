-- Find batch steps in progress whose checkpoint is old.
-- kinds: step
-- $1 ids text[]: restrict to these local ids; NULL for all
-- $2 settings jsonb
-- $3 page int: maximum number of rows
-- $4 met_needs text[]
-- Indexes: those of the included part.
WITH wanted AS (SELECT unnest(ARRAY['in_progress']) AS to_state),
\ir ../parts/open_steps.sql
,
\ir ../parts/ended_tasks.sql
, stamped AS (
  SELECT s.workflow_step_uuid, s.task_uuid, s.metadata ->> 'worker_uuid' AS worker, s.checkpoint,
         CASE WHEN c.at[1] IS NOT NULL
              THEN make_date(c.at[1]::int, c.at[2]::int, 1) + make_interval(days => c.at[3]::int - 1, hours => c.at[4]::int,
                                                                            mins => c.at[5]::int, secs => c.at[6]::int) END AS at
    FROM open_steps s
    LEFT JOIN LATERAL regexp_match(s.checkpoint ->> 'timestamp',
           '^([12]\d{3})-(0[1-9]|1[0-2])-([0-3]\d)[T ]([0-2]\d):([0-5]\d):([0-5]\d)(?:\.\d+)?(?:Z|\+00:00)?$') AS c(at) ON true
   WHERE s.checkpoint IS NOT NULL AND s.task_uuid NOT IN (SELECT t.task_uuid FROM ended_tasks t)
)
(SELECT 'step:' || b.workflow_step_uuid AS id, extract(epoch FROM b.at)::float8 AS since,
        jsonb_build_object('checkpoint', b.at::text, 'cursor', left(b.checkpoint ->> 'cursor', 80), 'items', b.checkpoint -> 'items_processed',
                           'age', date_trunc('second', now() - b.at)::text,
                           'worker', coalesce(b.worker, 'not recorded'), 'task', b.task_uuid) AS evidence
   FROM stamped b
  WHERE b.at < now() - make_interval(secs => ($2::jsonb ->> 'batch')::float8)
  ORDER BY b.at, b.workflow_step_uuid
  LIMIT $3::int)
UNION ALL
SELECT NULL, NULL, NULL FROM more
