-- Return messages in the engine's queues. Their key is the queue's name and the message's number.
-- Each read updates the message's row, so compute the version from the columns that never change.
-- Index: the primary keys of pgmq's tables.
\ir parts/messages_asked.sql
     $q$SELECT array_to_tsvector(ARRAY[jsonb_build_object('id', msg_id, 'read', read_ct, 'at', extract(epoch FROM enqueued_at),
          'vt', extract(epoch FROM vt), 'due', vt > now(), 'step', left(message ->> 'step_uuid', 64), 'task', left(message ->> 'task_uuid', 64),
          'version', md5(enqueued_at::text || message::text))::text]) FROM pgmq.%I WHERE msg_id = ANY (%L::int8[])$q$, t.relname, w.ids)) AS m
)
SELECT 'message:' || r.queue || '/' || (r.m ->> 'id') AS id, NULL::text AS parent_id, 'task:' || (r.m ->> 'task') AS job_id,
       'message' AS kind, r.queue || ' #' || (r.m ->> 'id') AS title,
       CASE WHEN (r.m ->> 'due')::bool THEN 'taken' ELSE 'waiting' END AS status,
       (r.m ->> 'at')::float8 AS created_at, (r.m ->> 'vt')::float8 AS due_at, (r.m ->> 'read')::int8 AS attempts,
       r.m ->> 'version' AS version, extract(epoch FROM now())::float8 AS now
  FROM read r
