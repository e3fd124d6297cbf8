-- title: State
-- kinds: task
-- $1 id text: local id
-- $2 bytes int: number of bytes to send
-- Index: tasks_pkey.
SELECT substring(convert_to(t.inner_state::text, 'UTF8') FOR $2::int) AS payload, octet_length(t.inner_state::text)::int8 AS size
  FROM :"schema".tasks t
 WHERE t.task_id = substr($1::text, 6)::macaddr8 AND t.inner_state IS NOT NULL
