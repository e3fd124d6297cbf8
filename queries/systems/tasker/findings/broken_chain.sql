-- Tasks and steps none of whose transitions is the current one: the engine reads that as pending.
-- $1 ids text[]: only for these local ids, or NULL
-- $2 limits jsonb
-- $3 page int: how many at most
-- Indexes: those of open tasks and steps, 20,000 of each; the state_lookups.
SELECT b.id, extract(epoch FROM b.at)::float8 AS since,
       jsonb_build_object('what', b.what, 'transitions', b.transitions, 'last', coalesce(b.last, 'none')) AS evidence
  FROM (
    SELECT 'task:' || t.task_uuid AS id, 'task' AS what, t.created_at AS at,
           (SELECT count(*) FROM task_transitions x WHERE x.task_uuid = t.task_uuid) AS transitions,
           (SELECT x.to_state FROM task_transitions x WHERE x.task_uuid = t.task_uuid ORDER BY x.sort_key DESC LIMIT 1) AS last
      FROM (SELECT t.task_uuid FROM tasks t WHERE t.complete = false ORDER BY t.priority DESC, t.task_uuid DESC LIMIT 20000) AS o
      JOIN tasks t ON t.task_uuid = o.task_uuid
     WHERE NOT EXISTS (SELECT FROM task_transitions x WHERE x.task_uuid = o.task_uuid AND x.most_recent)
    UNION ALL
    SELECT 'step:' || s.workflow_step_uuid, 'step', s.created_at,
           (SELECT count(*) FROM workflow_step_transitions x WHERE x.workflow_step_uuid = s.workflow_step_uuid),
           (SELECT x.to_state FROM workflow_step_transitions x WHERE x.workflow_step_uuid = s.workflow_step_uuid ORDER BY x.sort_key DESC LIMIT 1)
      FROM (SELECT s.workflow_step_uuid FROM workflow_steps s WHERE s.processed = false ORDER BY s.workflow_step_uuid DESC LIMIT 20000) AS o
      JOIN workflow_steps s ON s.workflow_step_uuid = o.workflow_step_uuid
     WHERE NOT EXISTS (SELECT FROM workflow_step_transitions x WHERE x.workflow_step_uuid = o.workflow_step_uuid AND x.most_recent)) AS b
 WHERE ($1::text[] IS NULL OR b.id = ANY ($1::text[]))
   AND b.at < now() - make_interval(secs => ($2::jsonb ->> 'broken')::float8)
 ORDER BY b.at, b.id
 LIMIT $3::int
