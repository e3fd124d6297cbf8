-- Find tasks that are blocked because a step permanently failed. still_blocked finds those without such a step.
-- kinds: task
-- $1 ids text[]: restrict to these local ids; NULL for all
-- $2 settings jsonb
-- $3 page int: maximum number of rows
-- $4 met_needs text[]
-- Indexes: those of the included parts.
WITH RECURSIVE wanted AS (SELECT unnest(ARRAY['blocked_by_failures']) AS to_state),
\ir ../parts/open_tasks.sql
,
resting AS (SELECT o.task_uuid FROM open_tasks o),
\ir ../parts/decided_tasks.sql
, asked AS MATERIALIZED (
  SELECT o.task_uuid, o.at
    FROM open_tasks o
   WHERE o.at < now() - make_interval(secs => ($2::jsonb ->> 'blocked')::float8)
     AND o.task_uuid NOT IN (SELECT d.task_uuid FROM decided_tasks d)
   ORDER BY o.at, o.task_uuid
   LIMIT $3::int
),
\ir ../parts/failed_steps.sql
(SELECT 'task:' || b.task_uuid AS id, extract(epoch FROM b.at)::float8 AS since,
        jsonb_build_object('failed', f.steps, 'steps', f.names, 'message', coalesce(f.message, 'no message'),
                           'entered', date_trunc('second', b.at)::text, 'task', b.task_uuid) AS evidence
   FROM asked b
   JOIN (SELECT f.task_uuid, count(*) AS steps, left(string_agg(f.name, ', ' ORDER BY f.workflow_step_uuid), 200) AS names,
                     (array_agg(left(f.message, 200) ORDER BY f.workflow_step_uuid))[1] AS message
                FROM failed_steps f GROUP BY f.task_uuid) AS f ON f.task_uuid = b.task_uuid
  ORDER BY b.at, b.task_uuid)
UNION ALL
SELECT NULL, NULL, NULL FROM more
