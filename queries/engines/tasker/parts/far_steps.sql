-- Steps whose next attempt is due much later than usual for steps of their name, or after the time that the staleness
-- detector gives a task. The poller finds a waiting task for an hour only.
-- Indexes: those of the included parts, idx_workflow_steps_named_step (at most 100 steps of the same name).
wanted AS (SELECT unnest(ARRAY['pending', 'waiting_for_retry']) AS to_state),
\ir open_steps.sql
, far_steps AS MATERIALIZED (
  SELECT s.workflow_step_uuid, s.task_uuid, s.named_step_uuid, s.at, s.backoff_request_seconds AS backoff, s.last_attempted_at,
         s.last_attempted_at + s.backoff_request_seconds * interval '1 second' AS retry_at
    FROM open_steps s
   WHERE s.last_attempted_at + s.backoff_request_seconds * interval '1 second' > now() + :far
),
far AS MATERIALIZED (
  WITH open_steps AS (SELECT f.* FROM far_steps f), -- for the part: only their tasks
\ir ended_tasks.sql
  SELECT s.*
    FROM far_steps s
   WHERE s.task_uuid NOT IN (SELECT t.task_uuid FROM ended_tasks t)
   ORDER BY s.at, s.workflow_step_uuid
   LIMIT :limit
),
usual AS MATERIALIZED (
  SELECT k.named_step_uuid, u.median, u.shown
    FROM (SELECT DISTINCT named_step_uuid FROM far) AS k
   CROSS JOIN LATERAL (
         SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY s.backoff_request_seconds::float8) AS median,
                percentile_cont(0.5) WITHIN GROUP (ORDER BY s.backoff_request_seconds::float8)
                  FILTER (WHERE s.backoff_request_seconds < (:settings ->> 'far')::float8) AS shown
           FROM (SELECT s.workflow_step_uuid, s.backoff_request_seconds FROM :"schema".workflow_steps s
                  -- BETWEEN one value and ORDER BY on it: the planner then uses this index.
                  WHERE s.named_step_uuid BETWEEN k.named_step_uuid AND k.named_step_uuid
                  ORDER BY s.named_step_uuid DESC LIMIT 100) AS s
          WHERE s.backoff_request_seconds IS NOT NULL) AS u
),
nodes AS (
  SELECT 'step:' || f.workflow_step_uuid AS id, f.*, n.name, u.median, u.shown
    FROM far f
    JOIN :"schema".named_steps n ON n.named_step_uuid = f.named_step_uuid
    LEFT JOIN usual u ON u.named_step_uuid = f.named_step_uuid
),
more AS (SELECT EXISTS (SELECT FROM open_steps s WHERE s.workflow_step_uuid IS NULL) AS more)
