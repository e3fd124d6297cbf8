-- title: Snapshot of the task
-- kinds: dead_letter
-- Index: tasks_dlq_pkey.
SELECT substring(v.value FOR :bytes) AS payload, octet_length(v.value)::int8 AS size
  FROM (SELECT convert_to((d.task_snapshot)::text, 'UTF8') AS value FROM :"schema".tasks_dlq d WHERE d.dlq_entry_uuid = substr(:id, 13)::uuid) AS v
 WHERE v.value IS NOT NULL
