-- Steps `s` of the requested ids, with their current transition `x`. Needs parts/involved.sql.
  FROM involved i, :"schema".workflow_step_transitions x
 WHERE s.task_uuid = i.task_uuid AND (i.kind <> 'step' OR s.workflow_step_uuid = CASE WHEN i.kind = 'step' THEN substr(i.id, 6)::uuid END)
   AND x.workflow_step_uuid = s.workflow_step_uuid AND x.most_recent
