-- The engine's execution context for the tasks in `asked(task_uuid)`, computed here: the engine's functions use
-- unqualified names, so automatic statements must not call them. One row per task with steps; `ready_at` is the time
-- since which its first ready step has been ready. Indexes: those of the included parts, and the one on
-- workflow_step_transitions(workflow_step_uuid, sort_key).
readiness AS MATERIALIZED (
  WITH \ir known_steps.sql
, \ir counted_steps.sql
, \ir step_parents.sql
, \ir triable_steps.sql
, theirs AS MATERIALIZED (
    SELECT p.step, p.parent FROM step_parents p
     WHERE (p.step IN (SELECT t.workflow_step_uuid FROM triable_steps t)) IS TRUE -- hashed
  ),
  moves AS MATERIALIZED (
    SELECT x.workflow_step_uuid AS step, max(x.created_at) FILTER (WHERE x.to_state = 'error') AS failed_at,
           max(x.created_at) FILTER (WHERE x.most_recent) AS entered
      FROM :"schema".workflow_step_transitions x
     WHERE x.workflow_step_uuid = ANY (ARRAY(SELECT t.step FROM theirs t UNION SELECT t.parent FROM theirs t))
     GROUP BY x.workflow_step_uuid
  ),
  freed AS (SELECT t.step, max(m.entered) AS at FROM theirs t JOIN moves m ON m.step = t.parent GROUP BY t.step),
  timed AS (
    SELECT s.task_uuid, r.retry_at, greatest(coalesce(s.entered, s.created_at), s.updated_at, s.freed_at, r.retry_at) AS since
      FROM (SELECT s.*, m.failed_at, m.entered, d.at AS freed_at
              FROM triable_steps s
              FULL JOIN moves m ON m.step = s.workflow_step_uuid -- never by nested loops
              FULL JOIN freed d ON d.step = s.workflow_step_uuid OFFSET 0) AS s
     CROSS JOIN LATERAL (SELECT CASE WHEN s.backoff_request_seconds IS NOT NULL AND s.last_attempted_at IS NOT NULL
                                     THEN s.last_attempted_at + s.backoff_request_seconds * interval '1 second'
                                     ELSE s.failed_at + least(power(2.0, least(coalesce(s.attempts, 1), 6)), 60) * interval '1 second' END AS retry_at) AS r
     WHERE s.workflow_step_uuid IS NOT NULL
  )
  SELECT c.*, coalesce(r.ready, 0) AS ready, r.ready_at
    FROM counted_steps c
    FULL JOIN (SELECT t.task_uuid, count(*) AS ready, min(t.since) AS ready_at FROM timed t
                WHERE t.retry_at IS NULL OR t.retry_at <= now() GROUP BY t.task_uuid) AS r ON r.task_uuid = c.task_uuid
)
