-- Return tasks with their state, the number of steps done, and the error of the first failed step.
-- Indexes: tasks_pkey, workflow_steps_pkey, idx_workflow_steps_task_covering, the state_lookups and the one on
-- workflow_step_transitions(workflow_step_uuid, sort_key). One look-up for all keys. Read rows of steps only for the next
-- retry of a waiting task and for the error of a failed one. FULL JOIN excludes nested loops where there may be many rows.
-- Tasks on a page are clustered, so scan the index range from the first key forward, at most 20 entries per key, and look up
-- only the remaining keys. A look-up costs an index descent per key before PostgreSQL 17, and per page since then; descents
-- get longer as tables grow.
-- Compute the next retry here: a read must not call calculate_step_next_retry_time, because that runs its owner's code.
WITH wanted AS MATERIALIZED (
  SELECT CASE WHEN substr(i, 6) ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' THEN substr(i, 6)::uuid END AS key FROM unnest(:ids) AS i
),
current AS MATERIALIZED (
  SELECT x.* FROM :"schema".task_transitions x WHERE x.most_recent AND x.task_uuid = ANY (ARRAY(SELECT key FROM wanted))
),
found AS MATERIALIZED (
  SELECT t.task_uuid, t.named_task_uuid, t.created_at, t.xmin AS row_version,
         x.task_transition_uuid, x.to_state, x.created_at AS entered_at, x.sort_key, x.processor_uuid
    FROM :"schema".tasks t
    LEFT JOIN current x ON x.task_uuid = t.task_uuid
   WHERE t.task_uuid = ANY (ARRAY(SELECT key FROM wanted))
),
near_steps AS MATERIALIZED (
  SELECT s.workflow_step_uuid, s.task_uuid, s.processed = false AND s.attempts > 0 AS again
    FROM :"schema".workflow_steps s
   WHERE s.task_uuid BETWEEN (SELECT f.task_uuid FROM found f ORDER BY f.task_uuid LIMIT 1)
                         AND (SELECT f.task_uuid FROM found f ORDER BY f.task_uuid DESC LIMIT 1)
   ORDER BY s.task_uuid
   FETCH FIRST (20 * (SELECT count(*) FROM found)) ROWS WITH TIES
),
their_steps AS MATERIALIZED (
  SELECT n.* FROM near_steps n WHERE (n.task_uuid IN (SELECT f.task_uuid FROM found f)) IS TRUE -- hashed subplan
  UNION ALL
  SELECT s.workflow_step_uuid, s.task_uuid, s.processed = false AND s.attempts > 0
    FROM :"schema".workflow_steps s
   WHERE s.task_uuid = ANY (ARRAY(SELECT f.task_uuid FROM found f
                                   WHERE f.task_uuid > (SELECT n.task_uuid FROM near_steps n ORDER BY n.task_uuid DESC LIMIT 1)))
),
near_states AS MATERIALIZED (
  SELECT x.workflow_step_uuid, x.to_state
    FROM :"schema".workflow_step_transitions x
   WHERE x.most_recent
     AND x.workflow_step_uuid BETWEEN (SELECT s.workflow_step_uuid FROM their_steps s ORDER BY s.workflow_step_uuid LIMIT 1)
                                  AND (SELECT s.workflow_step_uuid FROM their_steps s ORDER BY s.workflow_step_uuid DESC LIMIT 1)
   ORDER BY x.workflow_step_uuid
   LIMIT 20 * (SELECT count(*) FROM found)
),
step_states AS MATERIALIZED (
  SELECT n.* FROM near_states n WHERE (n.workflow_step_uuid IN (SELECT s.workflow_step_uuid FROM their_steps s)) IS TRUE -- hashed subplan
  UNION ALL
  SELECT x.workflow_step_uuid, x.to_state
    FROM :"schema".workflow_step_transitions x
   WHERE x.most_recent
     AND x.workflow_step_uuid = ANY (ARRAY(
           SELECT s.workflow_step_uuid FROM their_steps s
            WHERE s.workflow_step_uuid > (SELECT n.workflow_step_uuid FROM near_states n ORDER BY n.workflow_step_uuid DESC LIMIT 1)))
),
steps AS MATERIALIZED (
  SELECT s.workflow_step_uuid, s.task_uuid, s.again, x.to_state
    FROM their_steps s FULL JOIN step_states x ON x.workflow_step_uuid = s.workflow_step_uuid
),
sums AS (
  SELECT task_uuid, count(*) AS total, count(*) FILTER (WHERE to_state IN ('complete', 'resolved_manually')) AS done,
         min(workflow_step_uuid::text) FILTER (WHERE to_state = 'error')::uuid AS failed
    FROM steps GROUP BY task_uuid
),
looked_at AS MATERIALIZED (
  SELECT s.workflow_step_uuid, s.task_uuid, s.named_step_uuid, s.backoff_request_seconds, s.last_attempted_at, s.attempts,
         s.results #>> '{error,message}' AS message
    FROM :"schema".workflow_steps s
   WHERE s.workflow_step_uuid = ANY (ARRAY(
           SELECT p.workflow_step_uuid FROM steps p
            WHERE p.again AND coalesce(p.to_state, 'pending') IN ('pending', 'waiting_for_retry')
              AND (p.task_uuid IN (SELECT f.task_uuid FROM found f
                                    WHERE f.to_state IN ('waiting_for_dependencies', 'waiting_for_retry'))) IS TRUE -- hashed subplan
            UNION ALL
           SELECT u.failed FROM sums u))
),
waiting AS (
  SELECT l.* FROM looked_at l
   WHERE l.workflow_step_uuid NOT IN (SELECT u.failed FROM sums u WHERE u.failed IS NOT NULL)
),
failures AS MATERIALIZED (
  SELECT x.workflow_step_uuid, max(x.created_at) AS at FROM :"schema".workflow_step_transitions x
   WHERE x.to_state = 'error'
     AND x.workflow_step_uuid = ANY (ARRAY(SELECT w.workflow_step_uuid FROM waiting w
                                            WHERE w.backoff_request_seconds IS NULL OR w.last_attempted_at IS NULL)) -- else not used
   GROUP BY x.workflow_step_uuid
),
waits AS (
  SELECT s.task_uuid,
         min(CASE WHEN s.backoff_request_seconds IS NOT NULL AND s.last_attempted_at IS NOT NULL
             THEN s.last_attempted_at + s.backoff_request_seconds * interval '1 second'
             ELSE f.at + least(power(2.0, least(coalesce(s.attempts, 1), 6)), 60) * interval '1 second' END) AS due_at
    FROM waiting s
    FULL JOIN failures f ON f.workflow_step_uuid = s.workflow_step_uuid
   GROUP BY s.task_uuid
)
SELECT 'task:' || f.task_uuid AS id, 'template:' || f.named_task_uuid AS parent_id, NULL::text AS job_id, 'task' AS kind,
       n.name || ' v' || n.version || ' - ' || coalesce(u.done, 0) || '/' || coalesce(u.total, 0) AS title,
       coalesce(f.to_state, 'no current state')::text AS status,
       CASE f.to_state WHEN 'pending' THEN 'ready' WHEN 'waiting_for_retry' THEN 'scheduled' END AS phase,
       f.sort_key::int8 AS revision,
       extract(epoch FROM f.created_at)::float8 AS created_at, extract(epoch FROM f.entered_at)::float8 AS changed_at,
       CASE WHEN f.to_state IN ('waiting_for_dependencies', 'waiting_for_retry') THEN extract(epoch FROM w.due_at)::float8 END AS due_at,
       f.processor_uuid::text AS owner,
       e.name || ': ' || coalesce(left(s.message, 300), 'no error message') AS error,
       coalesce(f.task_transition_uuid::text, 'none') || ':' || f.row_version AS version, extract(epoch FROM now())::float8 AS now
  FROM found f
  JOIN :"schema".named_tasks n ON n.named_task_uuid = f.named_task_uuid
  LEFT JOIN sums u ON u.task_uuid = f.task_uuid
  LEFT JOIN waits w ON w.task_uuid = f.task_uuid
  LEFT JOIN looked_at s ON s.workflow_step_uuid = u.failed
  LEFT JOIN :"schema".named_steps e ON e.named_step_uuid = s.named_step_uuid
