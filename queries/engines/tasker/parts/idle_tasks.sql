-- Waiting tasks that nothing will ever continue: nothing is in flight or ready, no step waits for its backoff, and no
-- other finding names the obstacle. What remains is a dependency cycle, a parent in another task, or no steps at all.
-- Indexes: those of the included parts; at most 500 tasks; workflow_steps_pkey for the steps of the found tasks.
wanted AS (SELECT unnest(ARRAY['waiting_for_dependencies', 'waiting_for_retry']) AS to_state),
\ir open_tasks.sql
, waiting AS MATERIALIZED (
  SELECT o.task_uuid, o.to_state, o.at
    FROM open_tasks o
   WHERE o.at < now() - :idle
   ORDER BY o.at, o.task_uuid LIMIT 500
),
asked AS (SELECT w.task_uuid FROM waiting w),
\ir known_steps.sql
, \ir counted_steps.sql
, \ir step_parents.sql
, \ir triable_steps.sql
, idle AS MATERIALIZED (
  SELECT w.task_uuid, w.to_state, w.at, coalesce(c.total, 0) AS total, coalesce(c.done, 0) AS done
    FROM waiting w LEFT JOIN counted_steps c ON c.task_uuid = w.task_uuid
   WHERE coalesce(c.failed + c.in_flight, 0) = 0 AND (c.total IS NULL OR c.done < c.total)
     AND w.task_uuid NOT IN (SELECT t.task_uuid FROM triable_steps t)
),
-- Unmet parents of the steps that wait.
unmet AS MATERIALIZED (
  SELECT k.task_uuid, e.step AS down, e.parent AS up, p.task_uuid AS of_task, coalesce(p.state, 'unknown') AS state
    FROM step_parents e
    JOIN known_steps k ON k.step = e.step AND k.task_uuid IN (SELECT i.task_uuid FROM idle i)
    LEFT JOIN known_steps p ON p.step = e.parent
   WHERE e.parent IS NOT NULL AND p.done IS NOT TRUE
),
abroad AS MATERIALIZED (
  SELECT s.workflow_step_uuid, s.task_uuid, x.to_state FROM :"schema".workflow_steps s
    LEFT JOIN :"schema".workflow_step_transitions x ON x.workflow_step_uuid = s.workflow_step_uuid AND x.most_recent
   WHERE s.workflow_step_uuid = ANY (ARRAY(SELECT u.up FROM unmet u WHERE u.of_task IS DISTINCT FROM u.task_uuid))
),
-- Processed steps without a current state: no_current_state reads the unprocessed ones.
stateless AS MATERIALIZED (
  SELECT s.task_uuid, s.workflow_step_uuid AS step FROM :"schema".workflow_steps s
   WHERE s.processed
     AND s.workflow_step_uuid = ANY (ARRAY(
           SELECT k.step FROM known_steps k WHERE NOT k.free AND k.stateless AND k.task_uuid IN (SELECT i.task_uuid FROM idle i)))
),
-- Tasks whose obstacle another finding names: a cancelled parent, a set flag, no attempts left, no current state.
named AS (
  SELECT u.task_uuid FROM unmet u WHERE u.state = 'cancelled'
  UNION ALL
  SELECT k.task_uuid FROM known_steps k
   WHERE NOT k.free AND k.state IN ('pending', 'waiting_for_retry') AND k.step NOT IN (SELECT p.step FROM stateless p)
  UNION ALL
  SELECT k.task_uuid FROM known_steps k
   WHERE k.free AND k.state IN ('pending', 'waiting_for_retry') AND k.step NOT IN (SELECT u.down FROM unmet u)
),
found AS MATERIALIZED (
  SELECT i.* FROM idle i WHERE i.task_uuid NOT IN (SELECT n.task_uuid FROM named n) ORDER BY i.at, i.task_uuid LIMIT :limit
),
-- What each step waits for, directly or through others; a step that waits for itself is in a cycle.
chains AS (
  SELECT u.task_uuid, u.down AS step, u.up FROM unmet u WHERE u.task_uuid IN (SELECT f.task_uuid FROM found f WHERE f.total <= 200)
  UNION
  SELECT c.task_uuid, c.step, u.up FROM chains c JOIN unmet u ON u.down = c.up
),
circular AS MATERIALIZED (SELECT c.task_uuid, c.step FROM chains c WHERE c.step = c.up),
names AS MATERIALIZED (
  SELECT s.workflow_step_uuid, n.name FROM :"schema".workflow_steps s JOIN :"schema".named_steps n ON n.named_step_uuid = s.named_step_uuid
   WHERE s.workflow_step_uuid = ANY (ARRAY(SELECT c.step FROM circular c UNION SELECT a.workflow_step_uuid FROM abroad a))
),
nodes AS (
  SELECT 'task:' || f.task_uuid AS id, f.*, o.obstacle, o.detail
    FROM found f
   CROSS JOIN LATERAL (
         SELECT CASE WHEN f.total = 0 THEN 'it has no steps'
                     WHEN EXISTS (SELECT FROM stateless p WHERE p.task_uuid = f.task_uuid) THEN 'a processed step has no current state'
                     WHEN EXISTS (SELECT FROM circular c WHERE c.task_uuid = f.task_uuid) THEN 'its steps wait for each other'
                     WHEN EXISTS (SELECT FROM unmet u JOIN abroad a ON a.workflow_step_uuid = u.up WHERE u.task_uuid = f.task_uuid)
                          THEN 'a step waits for a step of another task'
                     ELSE 'the cause is unknown' END AS obstacle,
                coalesce((SELECT ': ' || left(string_agg(n.name, ', ' ORDER BY n.name), 200)
                            FROM circular c JOIN names n ON n.workflow_step_uuid = c.step WHERE c.task_uuid = f.task_uuid),
                         (SELECT ': ' || left(string_agg(DISTINCT n.name || ' of task ' || a.task_uuid || ' (' || coalesce(a.to_state, 'pending') || ')', ', '), 200)
                            FROM unmet u JOIN abroad a ON a.workflow_step_uuid = u.up JOIN names n ON n.workflow_step_uuid = u.up
                           WHERE u.task_uuid = f.task_uuid)) AS detail) AS o
),
more AS (SELECT EXISTS (SELECT FROM open_tasks o WHERE o.task_uuid IS NULL) AS more),
unread AS (SELECT NULL::text AS unread WHERE (SELECT count(*) FROM waiting) = 500)
