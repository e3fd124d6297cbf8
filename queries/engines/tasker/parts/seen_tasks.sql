-- End of a transition's metadata, and the tasks in `seen` with their state `x`. Needs parts/seen.sql.
         'timestamp', now(), 'operator', :operator, 'reason', :reason, 'console', 'unstick',
         'action_id', pg_current_xact_id()::text))
  FROM seen n
  JOIN :"schema".task_transitions x ON x.task_uuid = n.task_uuid AND x.most_recent
