-- title: Output
-- kinds: task
-- $1 id text: local id
-- $2 bytes int: number of bytes to send
-- Index: task_pkey.
SELECT substring(t.output FOR $2::int) AS payload, octet_length(t.output)::int8 AS size
  FROM :"schema".task t
 WHERE t.task_id = substr($1::text, 6)::uuid AND t.output IS NOT NULL
