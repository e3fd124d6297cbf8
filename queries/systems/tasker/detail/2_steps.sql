-- title: Steps
-- kinds: task
-- $1 id text: local id
-- The graph as rows: level (the longest way from the top), step, state, its parents. `path` marks the critical path: from
-- the step that ended last, or has not ended, back along the parent that ended last.
-- Indexes: idx_workflow_steps_task_covering, those on workflow_step_edges, the state_lookup.
WITH RECURSIVE asked AS (SELECT substr($1::text, 6)::uuid AS task_uuid),
\ir ../parts/levels.sql
, told AS MATERIALIZED (
  SELECT r.*, s.results, x.created_at AS entered_at, coalesce(d.level, -1) AS level,
         CASE WHEN r.current_state IN ('complete', 'resolved_manually', 'cancelled') THEN x.created_at ELSE 'infinity' END AS ended_at,
         c.at AS claimed_at
    FROM asked a
   CROSS JOIN LATERAL get_step_readiness_status(a.task_uuid, NULL) AS r
    JOIN workflow_steps s ON s.workflow_step_uuid = r.workflow_step_uuid
    LEFT JOIN deepest d ON d.step = r.workflow_step_uuid AND NOT d.circular
    LEFT JOIN workflow_step_transitions x ON x.workflow_step_uuid = r.workflow_step_uuid AND x.most_recent
    LEFT JOIN LATERAL (SELECT max(y.created_at) AS at FROM workflow_step_transitions y
                        WHERE y.workflow_step_uuid = r.workflow_step_uuid AND y.to_state = 'in_progress') AS c ON true
),
ends AS (
  SELECT t.workflow_step_uuid AS step, t.level
    FROM told t
   WHERE t.level >= 0 AND (t.ended_at < 'infinity' OR t.total_parents = t.completed_parents)
   ORDER BY t.ended_at DESC, t.level DESC, t.workflow_step_uuid LIMIT 1
),
path AS (
  SELECT e.step, e.level FROM ends e
  UNION ALL
  SELECT b.step, b.level
    FROM path p
   CROSS JOIN LATERAL (SELECT t.workflow_step_uuid AS step, t.level
                         FROM edges g JOIN told t ON t.workflow_step_uuid = g.up
                        WHERE g.down = p.step AND t.level >= 0 AND t.level < p.level
                        ORDER BY t.ended_at DESC, t.level DESC, t.workflow_step_uuid LIMIT 1) AS b
)
SELECT CASE WHEN t.level < 0 THEN 'in a circle' ELSE t.level::text END AS level,
       CASE WHEN EXISTS (SELECT FROM path p WHERE p.step = t.workflow_step_uuid) THEN '*' ELSE '' END AS path,
       t.name AS step, t.current_state AS state,
       (SELECT string_agg(u.name, ', ' ORDER BY u.level, u.name) FROM edges g JOIN told u ON u.workflow_step_uuid = g.up WHERE g.down = t.workflow_step_uuid) AS parents,
       t.attempts || '/' || t.max_attempts AS attempts,
       CASE WHEN t.current_state IN ('pending', 'waiting_for_retry') THEN date_trunc('second', t.next_retry_at)::text END AS next_retry,
       CASE WHEN t.ready_for_execution THEN 'ready' WHEN NOT t.retry_eligible THEN 'no attempt left'
            WHEN NOT t.dependencies_satisfied THEN t.completed_parents || '/' || t.total_parents || ' parents done' END AS readiness,
       date_trunc('milliseconds', t.entered_at)::text AS since,
       CASE WHEN jsonb_typeof(t.results #> '{metadata,execution_time_ms}') = 'number'
            THEN round((t.results #>> '{metadata,execution_time_ms}')::numeric / 1000, 3) || ' s' END AS run,
       left(t.results #>> '{error,message}', 200) AS error, t.workflow_step_uuid::text AS id
  FROM told t
 ORDER BY t.level, t.workflow_step_uuid
 LIMIT 1000
