-- Changes since a time: transitions of tasks and steps, with the state before, and new dead letters. At most a page of each.
-- cursor: JSON object with the last place of each part on the previous page, or NULL
-- Indexes: the primary keys of the three tables backwards, because keys are in the order of time;
-- idx_task_transitions_sort_key and idx_workflow_step_transitions_sort_key for the state before. A cancelled task's row has a
-- wrong previous state, so the state is that of the previous row.
-- title: recorded: each transition of a task or a step, and each new dead letter; not searched: the time of a decision on a dead letter, which no index serves
WITH c AS MATERIALIZED (
  SELECT coalesce((:cursor::text::jsonb ->> 'task')::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff') AS task,
         coalesce((:cursor::text::jsonb ->> 'step')::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff') AS step,
         coalesce((:cursor::text::jsonb ->> 'dead_letter')::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff') AS dead_letter,
         to_timestamp(:since) AT TIME ZONE 'UTC' AS since
),
tasks_ AS MATERIALIZED (
  SELECT x.task_transition_uuid AS key, x.task_uuid, x.to_state, x.sort_key, x.created_at
    FROM :"schema".task_transitions x WHERE x.task_transition_uuid < (SELECT task FROM c) ORDER BY x.task_transition_uuid DESC LIMIT :limit
),
steps AS MATERIALIZED (
  SELECT x.workflow_step_transition_uuid AS key, x.workflow_step_uuid, x.to_state, x.sort_key, x.created_at
    FROM :"schema".workflow_step_transitions x
   WHERE x.workflow_step_transition_uuid < (SELECT step FROM c) ORDER BY x.workflow_step_transition_uuid DESC LIMIT :limit
),
dead_letters AS MATERIALIZED (
  SELECT d.dlq_entry_uuid AS key, d.dlq_timestamp, d.dlq_reason::text AS reason
    FROM :"schema".tasks_dlq d WHERE d.dlq_entry_uuid < (SELECT dead_letter FROM c) ORDER BY d.dlq_entry_uuid DESC LIMIT :limit
)
(SELECT 'task:' || t.task_uuid AS id, extract(epoch FROM t.created_at)::float8 AS at, 'transition' AS what, p.to_state::text AS old,
        t.to_state::text AS new, 'task' AS part, t.key::text AS place
   FROM tasks_ t
   LEFT JOIN LATERAL (SELECT o.to_state FROM :"schema".task_transitions o
                       WHERE o.task_uuid = t.task_uuid AND o.sort_key < t.sort_key ORDER BY o.sort_key DESC LIMIT 1) AS p ON true
  WHERE t.created_at >= (SELECT since FROM c)
  ORDER BY t.key DESC)
UNION ALL
(SELECT 'step:' || s.workflow_step_uuid, extract(epoch FROM s.created_at)::float8, 'transition', p.to_state::text, s.to_state::text, 'step', s.key::text
   FROM steps s
   LEFT JOIN LATERAL (SELECT o.to_state FROM :"schema".workflow_step_transitions o
                       WHERE o.workflow_step_uuid = s.workflow_step_uuid AND o.sort_key < s.sort_key ORDER BY o.sort_key DESC LIMIT 1) AS p ON true
  WHERE s.created_at >= (SELECT since FROM c)
  ORDER BY s.key DESC)
UNION ALL
(SELECT 'dead_letter:' || d.key, extract(epoch FROM d.dlq_timestamp)::float8, 'dead-lettered', NULL, d.reason, 'dead_letter', d.key::text
   FROM dead_letters d WHERE d.dlq_timestamp >= (SELECT since FROM c)
  ORDER BY d.key DESC)
