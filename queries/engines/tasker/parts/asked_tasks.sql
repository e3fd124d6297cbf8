-- The requested tasks `t` with their state `x`.
      FROM unnest(:ids) AS i
      JOIN :"schema".tasks t ON t.task_uuid = substr(i, 6)::uuid
      LEFT JOIN :"schema".task_transitions x ON x.task_uuid = t.task_uuid AND x.most_recent
