-- Return messages in the engine's queues. Their key is the queue's name and the message's number.
-- Index: the primary keys of pgmq's tables.
WITH \ir parts/requested_messages.sql
SELECT r.id, NULL::text AS parent_id, 'task:' || (r.m ->> 'task') AS job_id,
       'message' AS kind, r.queue || ' #' || (r.m ->> 'id') AS title,
       CASE WHEN (r.m ->> 'due')::bool THEN 'taken' ELSE 'waiting' END AS status,
       (r.m ->> 'at')::float8 AS created_at, (r.m ->> 'vt')::float8 AS due_at, (r.m ->> 'read')::int8 AS attempts,
       r.m ->> 'version' AS version, extract(epoch FROM now())::float8 AS now
  FROM requested_messages r
