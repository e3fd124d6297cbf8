-- The requested messages of readable queues. ts_stat reads them, because the table names are not known in advance: it
-- runs a query given as text. Each message is one word. Each read updates a message's row, so its version is that of
-- the columns that never change.
requested_messages AS MATERIALIZED (
  WITH wanted AS MATERIALIZED (
    SELECT q.queue_name::text AS queue, array_agg(DISTINCT substring(i FROM '/(\d{1,18})$')::int8) AS ids
      FROM unnest(:ids) AS i
      JOIN pgmq.meta q ON q.queue_name = substring(i FROM '^message:(.*)/\d{1,18}$')
     GROUP BY q.queue_name
  ),
  queues AS (SELECT w.queue AS queue_name FROM wanted w),
\ir queue_tables.sql
  SELECT 'message:' || w.queue || '/' || (m.word::jsonb ->> 'id') AS id, w.queue, m.word::jsonb AS m
    FROM wanted w
    JOIN queue_tables t ON t.queue_name = w.queue AND t.unread IS NULL
   CROSS JOIN LATERAL ts_stat(format(
     $q$SELECT array_to_tsvector(ARRAY[jsonb_build_object('id', msg_id, 'relation', tableoid, 'place', ctid, 'locker', xmax::text, 'read', read_ct,
          'at', extract(epoch FROM enqueued_at), 'vt', extract(epoch FROM vt), 'due', vt > now(), 'step', left(message ->> 'step_uuid', 64),
          'task', left(message ->> 'task_uuid', 64), 'version', md5(enqueued_at::text || message::text))::text])
          FROM pgmq.%I WHERE msg_id = ANY (%L::int8[])$q$, t.relname, w.ids)) AS m
)
