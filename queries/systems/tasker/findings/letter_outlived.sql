-- Dead letters nobody has decided on, whose task is not in error (any more).
-- $1 ids text[]: only for these local ids, or NULL
-- $2 page int: how many at most
-- Indexes: idx_dlq_status_timestamp, idx_task_transitions_state_lookup.
SELECT 'letter:' || d.dlq_entry_uuid AS id, extract(epoch FROM d.dlq_timestamp)::float8 AS since,
       jsonb_build_object('reason', d.dlq_reason, 'was', d.original_state, 'state', coalesce(x.to_state, 'without a current state'),
         'at', date_trunc('second', d.dlq_timestamp)::text, 'task', d.task_uuid) AS evidence
  FROM (SELECT * FROM tasks_dlq d WHERE d.resolution_status = 'pending' ORDER BY d.dlq_timestamp LIMIT 20000) AS d
  LEFT JOIN task_transitions x ON x.task_uuid = d.task_uuid AND x.most_recent
 WHERE coalesce(x.to_state, '') <> 'error'
   AND ($1::text[] IS NULL OR d.dlq_entry_uuid = ANY (ARRAY(SELECT substr(i, 8)::uuid FROM unnest($1::text[]) AS i WHERE i LIKE 'letter:%')))
 ORDER BY d.dlq_timestamp, d.dlq_entry_uuid
 LIMIT $2::int
