-- Batch steps in progress with the time of their last checkpoint.
wanted AS (SELECT unnest(ARRAY['in_progress']) AS to_state),
\ir open_steps.sql
, \ir ended_tasks.sql
, nodes AS (
  SELECT 'step:' || s.workflow_step_uuid AS id, s.task_uuid, s.metadata ->> 'worker_uuid' AS worker, s.checkpoint,
         CASE WHEN c.at[1] IS NOT NULL
              THEN make_date(c.at[1]::int, c.at[2]::int, 1) + make_interval(days => c.at[3]::int - 1, hours => c.at[4]::int,
                                                                            mins => c.at[5]::int, secs => c.at[6]::int) END AS at
    FROM open_steps s
    LEFT JOIN LATERAL regexp_match(s.checkpoint ->> 'timestamp',
           '^([12]\d{3})-(0[1-9]|1[0-2])-([0-3]\d)[T ]([0-2]\d):([0-5]\d):([0-5]\d)(?:\.\d+)?(?:Z|\+00:00)?$') AS c(at) ON true
   WHERE s.checkpoint IS NOT NULL AND s.task_uuid NOT IN (SELECT t.task_uuid FROM ended_tasks t)
),
more AS (SELECT EXISTS (SELECT FROM open_steps s WHERE s.workflow_step_uuid IS NULL) AS more)
