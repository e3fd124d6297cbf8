-- title: Context
-- kinds: task
-- Index: tasks_pkey.
SELECT substring(v.value FOR :bytes) AS payload, octet_length(v.value)::int8 AS size
  FROM (SELECT convert_to((t.context)::text, 'UTF8') AS value FROM :"schema".tasks t WHERE t.task_uuid = substr(:id, 6)::uuid) AS v
 WHERE v.value IS NOT NULL
