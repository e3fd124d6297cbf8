-- Return steps with their state, next retry, and deepest parent, which is their place in the tree. A step created by a
-- decision or a batch has no transition until it is enqueued; the engine treats it as pending since its creation.
-- Indexes: workflow_steps_pkey, idx_workflow_steps_task_covering, idx_workflow_step_transitions_state_lookup, those on
-- workflow_step_edges.
-- Compute the next retry here: a read must not call calculate_step_next_retry_time, because that runs its owner's code.
WITH wanted AS MATERIALIZED (
  SELECT CASE WHEN substr(i, 6) ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' THEN substr(i, 6)::uuid END AS key FROM unnest(:ids) AS i
),
current AS MATERIALIZED (
  SELECT x.* FROM :"schema".workflow_step_transitions x WHERE x.most_recent AND x.workflow_step_uuid = ANY (ARRAY(SELECT key FROM wanted))
),
rows AS MATERIALIZED (
  SELECT s.*, s.xmin AS row_version FROM :"schema".workflow_steps s WHERE s.workflow_step_uuid = ANY (ARRAY(SELECT key FROM wanted))
),
failures AS MATERIALIZED (
  SELECT x.workflow_step_uuid, max(x.created_at) AS at FROM :"schema".workflow_step_transitions x
   WHERE x.to_state = 'error'
     AND x.workflow_step_uuid = ANY (ARRAY(
           SELECT r.workflow_step_uuid FROM rows r
            WHERE (r.backoff_request_seconds IS NULL OR r.last_attempted_at IS NULL) -- else not used
              AND (r.workflow_step_uuid IN (SELECT c.workflow_step_uuid FROM current c WHERE c.to_state IN ('pending', 'waiting_for_retry'))) IS TRUE))
   GROUP BY x.workflow_step_uuid
),
broken AS MATERIALIZED (
  SELECT DISTINCT x.workflow_step_uuid FROM :"schema".workflow_step_transitions x
   WHERE x.workflow_step_uuid = ANY (ARRAY(SELECT r.workflow_step_uuid FROM rows r
                                            WHERE r.workflow_step_uuid NOT IN (SELECT c.workflow_step_uuid FROM current c)))
),
found AS MATERIALIZED (
  SELECT s.*, x.workflow_step_transition_uuid, x.metadata,
         coalesce(x.to_state, CASE WHEN b.workflow_step_uuid IS NULL THEN 'pending' END) AS to_state,
         coalesce(x.created_at, CASE WHEN b.workflow_step_uuid IS NULL THEN s.created_at END) AS entered_at,
         coalesce(x.sort_key, CASE WHEN b.workflow_step_uuid IS NULL THEN 0 END) AS sort_key,
         CASE WHEN s.backoff_request_seconds IS NOT NULL AND s.last_attempted_at IS NOT NULL
              THEN s.last_attempted_at + s.backoff_request_seconds * interval '1 second'
              ELSE f.at + least(power(2.0, least(coalesce(s.attempts, 1), 6)), 60) * interval '1 second' END AS retry_at
    FROM rows s
    LEFT JOIN current x ON x.workflow_step_uuid = s.workflow_step_uuid
    LEFT JOIN broken b ON b.workflow_step_uuid = s.workflow_step_uuid
    LEFT JOIN failures f ON f.workflow_step_uuid = s.workflow_step_uuid
),
asked AS (SELECT task_uuid FROM found),
\ir parts/step_places.sql
, parents AS MATERIALIZED (
  SELECT DISTINCT e.from_step_uuid AS up, e.to_step_uuid AS down
    FROM :"schema".workflow_step_edges e WHERE e.to_step_uuid = ANY (ARRAY(SELECT f.workflow_step_uuid FROM found f))
),
parent_states AS MATERIALIZED (
  SELECT x.workflow_step_uuid, x.to_state FROM :"schema".workflow_step_transitions x
   WHERE x.most_recent AND x.workflow_step_uuid = ANY (ARRAY(SELECT p.up FROM parents p))
),
open AS (
  SELECT p.down AS step
    FROM parents p
    FULL JOIN parent_states x ON x.workflow_step_uuid = p.up -- FULL JOIN excludes nested loops
   WHERE coalesce(x.to_state, 'pending') NOT IN ('complete', 'resolved_manually')
   GROUP BY p.down
)
SELECT 'step:' || f.workflow_step_uuid AS id, coalesce('step:' || u.parent, 'task:' || f.task_uuid) AS parent_id,
       'task:' || f.task_uuid AS job_id, 'step' AS kind, n.name || CASE WHEN u.more > 0 THEN ' +' || u.more ELSE '' END AS title,
       coalesce(f.to_state, 'no current state')::text AS status,
       CASE WHEN f.to_state IN ('pending', 'waiting_for_retry')
            THEN CASE WHEN o.step IS NOT NULL THEN 'blocked' WHEN f.retry_at > now() THEN 'scheduled' ELSE 'ready' END END AS phase,
       f.sort_key::int8 AS revision,
       CASE WHEN jsonb_typeof(f.results #> '{metadata,execution_time_ms}') = 'number'
            THEN (f.results #>> '{metadata,execution_time_ms}')::float8 / 1000 END AS poll,
       extract(epoch FROM f.created_at)::float8 AS created_at, extract(epoch FROM f.entered_at)::float8 AS changed_at,
       CASE WHEN f.to_state IN ('pending', 'waiting_for_retry') THEN extract(epoch FROM f.retry_at)::float8 END AS due_at,
       CASE WHEN f.to_state = 'in_progress' THEN f.metadata ->> 'worker_uuid'
            ELSE coalesce(f.results #>> '{metadata,worker_id}', f.metadata ->> 'worker_uuid') END AS owner,
       CASE WHEN c.at[1] IS NOT NULL
            THEN extract(epoch FROM make_date(c.at[1]::int, c.at[2]::int, 1)::timestamp)::float8
                 + (c.at[3]::int - 1) * 86400 + c.at[4]::int * 3600 + c.at[5]::int * 60 + c.at[6]::int END AS heartbeat_at,
       coalesce(f.attempts, 0)::int8 AS attempts, coalesce(f.max_attempts, 3)::int8 AS max_attempts,
       CASE WHEN f.to_state NOT IN ('complete', 'resolved_manually', 'cancelled')
            THEN coalesce(left(f.results #>> '{error,message}', 500),
                          CASE WHEN f.to_state = 'error' THEN left(f.metadata ->> 'event', 500) END) END AS error,
       coalesce(f.workflow_step_transition_uuid::text, 'none') || ':' || f.row_version AS version,
       extract(epoch FROM now())::float8 AS now
  FROM found f
  JOIN :"schema".named_steps n ON n.named_step_uuid = f.named_step_uuid
  LEFT JOIN step_places u ON u.step = f.workflow_step_uuid
  LEFT JOIN open o ON o.step = f.workflow_step_uuid
  LEFT JOIN LATERAL regexp_match(f.checkpoint ->> 'timestamp',
         '^([12]\d{3})-(0[1-9]|1[0-2])-([0-3]\d)[T ]([0-2]\d):([0-5]\d):([0-5]\d)(?:\.\d+)?(?:Z|\+00:00)?$') AS c(at) ON true
