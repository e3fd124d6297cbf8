-- Find pending dead letters whose task is still in error.
-- Not derived: only dead letters of tasks that workers had name a queue; in others, that evidence is absent, not NULL.
-- Indexes: those of the included part, idx_task_transitions_state_lookup, tasks_pkey. Look up the newest first, which
-- are often sufficient, then all others at once.
WITH \ir ../parts/dead_letters.sql
, newest AS MATERIALIZED (SELECT d.* FROM dead_letters d ORDER BY d.dlq_timestamp DESC, d.dlq_entry_uuid DESC LIMIT 2 * :limit),
newest_states AS MATERIALIZED (
  SELECT x.task_uuid, x.to_state FROM :"schema".task_transitions x WHERE x.most_recent AND x.task_uuid = ANY (ARRAY(SELECT d.task_uuid FROM newest d))
),
newest_in_error AS MATERIALIZED (
  SELECT d.*
    FROM (SELECT d.*, x.to_state FROM newest d FULL JOIN newest_states x ON x.task_uuid = d.task_uuid OFFSET 0) AS d
   WHERE d.to_state = 'error'
),
others AS MATERIALIZED (
  SELECT d.* FROM dead_letters d
   WHERE (SELECT count(*) FROM newest_in_error) < :limit
   ORDER BY d.dlq_timestamp DESC, d.dlq_entry_uuid DESC OFFSET 2 * :limit
),
other_states AS MATERIALIZED (
  SELECT x.task_uuid, x.to_state FROM :"schema".task_transitions x WHERE x.most_recent AND x.task_uuid = ANY (ARRAY(SELECT d.task_uuid FROM others d))
),
in_error AS (
  SELECT o.* FROM newest_in_error o
  UNION ALL
  SELECT d.*
    FROM (SELECT d.*, x.to_state FROM others d FULL JOIN other_states x ON x.task_uuid = d.task_uuid OFFSET 0) AS d
   WHERE d.to_state = 'error'
),
found AS MATERIALIZED (SELECT d.* FROM in_error d ORDER BY d.dlq_timestamp DESC, d.dlq_entry_uuid DESC LIMIT :limit),
-- Tasks that were in the hands of workers belong to the queue of their template's namespace.
their_tasks AS MATERIALIZED (
  SELECT t.task_uuid, t.named_task_uuid FROM :"schema".tasks t
   WHERE t.task_uuid = ANY (ARRAY(SELECT f.task_uuid FROM found f WHERE f.original_state = 'steps_in_process'))
),
queues AS MATERIALIZED (
  SELECT n.named_task_uuid, 'worker_' || p.name || '_queue' AS name
    FROM :"schema".named_tasks n
    JOIN :"schema".task_namespaces p ON p.task_namespace_uuid = n.task_namespace_uuid
   WHERE n.named_task_uuid = ANY (ARRAY(SELECT t.named_task_uuid FROM their_tasks t))
)
(SELECT 'dead_letter:' || d.dlq_entry_uuid AS id, extract(epoch FROM d.dlq_timestamp)::float8 AS since,
        jsonb_strip_nulls(jsonb_build_object('reason', d.dlq_reason, 'was', d.original_state, 'at', date_trunc('second', d.dlq_timestamp)::text,
          'age', date_trunc('second', now() - d.dlq_timestamp)::text, 'task', d.task_uuid, 'queue', q.name)) AS evidence
   FROM found d
   LEFT JOIN their_tasks t ON t.task_uuid = d.task_uuid
   LEFT JOIN queues q ON q.named_task_uuid = t.named_task_uuid
  ORDER BY d.dlq_timestamp DESC, d.dlq_entry_uuid DESC)
UNION ALL
SELECT NULL, NULL, NULL WHERE :ids IS NULL AND (SELECT count(*) FROM dead_letters) = 5000
