-- Cancelled steps that other steps depend on: only a complete or resolved_manually step satisfies its dependents.
-- Dependents are pending, or have no transitions. They are open, so start the search with them; if ids are given, start
-- with the cancelled steps among these.
-- Indexes: those on open workflow_steps and workflow_step_edges, the state_lookups. At most 5,000 open steps.
open AS MATERIALIZED (
  SELECT s.workflow_step_uuid FROM :"schema".workflow_steps s
   WHERE s.processed = false AND :ids IS NULL ORDER BY s.workflow_step_uuid DESC LIMIT 5000
),
asked AS MATERIALIZED (
  SELECT x.workflow_step_uuid, x.created_at FROM :"schema".workflow_step_transitions x
   WHERE x.most_recent AND x.to_state = 'cancelled'
     AND x.workflow_step_uuid = ANY (:step_keys)
),
pairs AS MATERIALIZED (
  SELECT e.from_step_uuid, e.to_step_uuid
    FROM :"schema".workflow_step_edges e WHERE e.to_step_uuid = ANY (ARRAY(SELECT o.workflow_step_uuid FROM open o))
  UNION ALL
  SELECT e.from_step_uuid, e.to_step_uuid
    FROM :"schema".workflow_step_edges e WHERE e.from_step_uuid = ANY (ARRAY(SELECT a.workflow_step_uuid FROM asked a))
),
cancelled AS MATERIALIZED (
  SELECT a.workflow_step_uuid, a.created_at FROM asked a
  UNION ALL
  SELECT x.workflow_step_uuid, x.created_at FROM :"schema".workflow_step_transitions x
   WHERE x.most_recent AND x.to_state = 'cancelled'
     AND x.workflow_step_uuid = ANY (ARRAY(SELECT p.from_step_uuid FROM pairs p WHERE :ids IS NULL))
),
awaited AS MATERIALIZED (
  SELECT p.*, x.created_at FROM pairs p FULL JOIN cancelled x ON x.workflow_step_uuid = p.from_step_uuid -- excludes nested loops
),
behind AS MATERIALIZED (SELECT DISTINCT a.to_step_uuid FROM awaited a WHERE a.created_at IS NOT NULL AND a.to_step_uuid IS NOT NULL),
moves AS MATERIALIZED (
  SELECT y.workflow_step_uuid, y.most_recent AND y.to_state = 'pending' AS pending FROM :"schema".workflow_step_transitions y
   WHERE y.workflow_step_uuid = ANY (ARRAY(SELECT b.to_step_uuid FROM behind b))
),
pending AS MATERIALIZED (
  SELECT m.workflow_step_uuid FROM moves m WHERE m.pending
  UNION ALL
  SELECT b.to_step_uuid FROM behind b WHERE b.to_step_uuid NOT IN (SELECT m.workflow_step_uuid FROM moves m)
),
open_steps AS MATERIALIZED (
  SELECT s.workflow_step_uuid, s.task_uuid, s.named_step_uuid
    FROM :"schema".workflow_steps s
   WHERE s.processed = false AND s.workflow_step_uuid = ANY (ARRAY(SELECT y.workflow_step_uuid FROM pending y))
),
waiting AS MATERIALIZED (
  SELECT a.*, s.task_uuid, s.named_step_uuid FROM awaited a FULL JOIN open_steps s ON s.workflow_step_uuid = a.to_step_uuid
),
\ir ended_tasks.sql
, nodes AS (
  SELECT 'step:' || s.from_step_uuid AS id, min(s.created_at) AS at, left(string_agg(n.name, ', ' ORDER BY s.to_step_uuid), 200) AS children,
         count(*) AS waiting, min(s.task_uuid::text) AS task_uuid
    FROM waiting s
    JOIN :"schema".named_steps n ON n.named_step_uuid = s.named_step_uuid
   WHERE s.created_at IS NOT NULL AND s.task_uuid IS NOT NULL AND s.task_uuid NOT IN (SELECT t.task_uuid FROM ended_tasks t)
   GROUP BY s.from_step_uuid
),
more AS (SELECT count(*) = 5000 AS more FROM open)
