-- Find batch steps in progress whose checkpoint is old.
WITH wanted AS (SELECT unnest(ARRAY['in_progress']) AS to_state),
\ir ../parts/open_steps_of_tasks.sql
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
  WHERE b.at < now() - :batch
\ir ../parts/more.sql
