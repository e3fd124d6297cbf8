-- The requested messages of readable queues. ts_stat reads them, because the table names are not known in advance.
wanted AS MATERIALIZED (
  SELECT q.queue_name, array_agg(substring(i FROM '/(\d{1,18})$')::int8) AS ids
    FROM unnest($1::text[]) AS i JOIN pgmq.meta q ON q.queue_name = substring(i FROM '^message:(.*)/\d{1,18}$')
   GROUP BY q.queue_name
),
queues AS (SELECT w.queue_name FROM wanted w),
\ir queue_tables.sql
read AS MATERIALIZED (
  SELECT w.queue_name, m.word::jsonb AS m
    FROM wanted w
    JOIN queue_tables t ON t.queue_name = w.queue_name AND t.unread IS NULL
   CROSS JOIN LATERAL ts_stat(format(
     $q$SELECT array_to_tsvector(ARRAY[jsonb_build_object('id', msg_id, 'version', md5(enqueued_at::text || message::text), 'read', read_ct, 'message', left(message::text, 400))::text])
          FROM pgmq.%I WHERE msg_id = ANY (%L::int8[])$q$, t.relname, w.ids)) AS m
)
