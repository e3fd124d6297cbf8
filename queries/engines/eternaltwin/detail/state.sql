-- title: State
-- kinds: task
-- $1 id text: local id
-- $2 bytes int: number of bytes to send
-- Index: task_pkey.
SELECT substring(t.state FOR $2::int) AS payload, octet_length(t.state)::int8 AS size
  FROM :"schema".task t
 WHERE t.task_id = substr($1::text, 6)::uuid
