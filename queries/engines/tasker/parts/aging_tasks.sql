-- Tasks that the staleness detector will soon set to error: their time in this state is near the limit of their
-- template (or the threshold), or they are near the maximum age. Suggest waking only if the task waits, has more steps
-- to run and is not too old.
-- Indexes: those of the included part, tasks_pkey, idx_dlq_unique_pending_task.
wanted AS (SELECT unnest(ARRAY['waiting_for_dependencies', 'waiting_for_retry', 'steps_in_process']) AS to_state),
\ir open_tasks.sql
, rows AS MATERIALIZED (
  SELECT t.task_uuid, t.created_at, t.named_task_uuid FROM :"schema".tasks t WHERE t.task_uuid = ANY (ARRAY(SELECT o.task_uuid FROM open_tasks o))
),
aged AS MATERIALIZED (
  SELECT o.*, t.created_at AS born, t.named_task_uuid FROM open_tasks o FULL JOIN rows t ON t.task_uuid = o.task_uuid
),
dead_lettered AS MATERIALIZED (
  SELECT d.task_uuid FROM :"schema".tasks_dlq d
   WHERE d.resolution_status = 'pending' AND d.task_uuid = ANY (ARRAY(SELECT o.task_uuid FROM open_tasks o))
),
judged AS (
  SELECT o.task_uuid, o.to_state, o.at, o.born, n.task_namespace_uuid, (extract(epoch FROM now()) - extract(epoch FROM o.at))::float8 AS spent,
         (extract(epoch FROM now()) - extract(epoch FROM o.born))::float8 AS age, (:settings ->> 'stale_lifetime')::float8 AS lifetime,
         CASE WHEN l.minutes ~ '^\d{1,9}$' THEN l.minutes::float8 * 60 ELSE (:settings ->> l.threshold)::float8 END AS allowed,
         CASE WHEN l.minutes ~ '^\d{1,9}$' THEN 'its template' ELSE 'the threshold' END AS by
    FROM aged o
    JOIN :"schema".named_tasks n ON n.named_task_uuid = o.named_task_uuid
   CROSS JOIN LATERAL (SELECT 'stale_' || o.to_state AS threshold,
                              n.configuration -> 'lifecycle' ->> ('max_' || o.to_state || '_minutes') AS minutes) AS l
   WHERE o.task_uuid NOT IN (SELECT l.task_uuid FROM dead_lettered l)
),
late AS MATERIALIZED (
  SELECT j.* FROM judged j
   WHERE j.spent >= 0.8 * j.allowed OR j.age >= 0.8 * j.lifetime
   ORDER BY j.at, j.task_uuid
   LIMIT :limit
),
asked AS (SELECT l.task_uuid FROM late l),
\ir known_steps.sql
, \ir counted_steps.sql
, nodes AS (
  SELECT 'task:' || j.task_uuid AS id, j.*, p.name AS namespace,
         coalesce(j.to_state <> 'steps_in_process' AND j.age < 0.8 * j.lifetime AND k.failed = 0 AND k.done < k.total, false) AS help
    FROM late j
    JOIN :"schema".task_namespaces p ON p.task_namespace_uuid = j.task_namespace_uuid
    LEFT JOIN counted_steps k ON k.task_uuid = j.task_uuid
),
more AS (SELECT EXISTS (SELECT FROM open_tasks o WHERE o.task_uuid IS NULL) AS more)
