-- title: Configuration
-- kinds: template
-- Index: named_tasks_pkey.
SELECT substring(v.value FOR :bytes) AS payload, octet_length(v.value)::int8 AS size
  FROM (SELECT convert_to((n.configuration)::text, 'UTF8') AS value FROM :"schema".named_tasks n WHERE n.named_task_uuid = substr(:id, 10)::uuid) AS v
 WHERE v.value IS NOT NULL
