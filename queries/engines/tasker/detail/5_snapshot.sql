-- title: Snapshot of the task
-- kinds: dead_letter
-- $1 id text: local id
-- $2 bytes int: maximum number of bytes to return
-- Index: tasks_dlq_pkey.
SELECT substring(v.value FOR $2::int) AS payload, octet_length(v.value)::int8 AS size
  FROM (SELECT convert_to((d.task_snapshot)::text, 'UTF8') AS value FROM :"schema".tasks_dlq d WHERE d.dlq_entry_uuid = substr($1::text, 13)::uuid) AS v
 WHERE v.value IS NOT NULL
