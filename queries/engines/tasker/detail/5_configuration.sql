-- title: Configuration
-- kinds: template
-- $1 id text: local id
-- $2 bytes int: maximum number of bytes to return
-- Index: named_tasks_pkey.
SELECT substring(v.value FOR $2::int) AS payload, octet_length(v.value)::int8 AS size
  FROM (SELECT convert_to((n.configuration)::text, 'UTF8') AS value FROM :"schema".named_tasks n WHERE n.named_task_uuid = substr($1::text, 10)::uuid) AS v
 WHERE v.value IS NOT NULL
