-- Find pending dead letters whose task is not or no longer in error.
-- Indexes: those of the included part, idx_task_transitions_state_lookup.
WITH
\ir ../parts/dead_letters.sql
, current AS MATERIALIZED (
  SELECT x.task_uuid, x.to_state FROM :"schema".task_transitions x WHERE x.most_recent AND x.task_uuid = ANY (ARRAY(SELECT d.task_uuid FROM dead_letters d))
)
(SELECT 'dead_letter:' || d.dlq_entry_uuid AS id, extract(epoch FROM d.dlq_timestamp)::float8 AS since,
        jsonb_build_object('reason', d.dlq_reason, 'was', d.original_state, 'state', coalesce(d.to_state, 'no current state'),
          'at', date_trunc('second', d.dlq_timestamp)::text, 'task', d.task_uuid) AS evidence
   FROM (SELECT d.*, x.to_state FROM dead_letters d FULL JOIN current x ON x.task_uuid = d.task_uuid OFFSET 0) AS d
  WHERE coalesce(d.to_state, '') <> 'error'
\ir ../parts/page.sql
UNION ALL
SELECT NULL, NULL, NULL WHERE :ids IS NULL AND (SELECT count(*) FROM dead_letters) = 5000
