-- title: Message
-- kinds: message
-- Index: the primary key of pgmq's table, which ts_stat reads because its name is not known in advance.
WITH queues AS (SELECT q.queue_name FROM pgmq.meta q WHERE q.queue_name = substring(:id FROM '^message:(.*)/\d{1,18}$')),
\ir ../parts/queue_tables.sql
, asked AS (SELECT t.relname FROM queue_tables t WHERE t.unread IS NULL)
SELECT m.word::jsonb ->> 'enqueued_at' AS enqueued_at, m.word::jsonb ->> 'vt' AS visible_from, m.word::jsonb ->> 'reads' AS reads,
       m.word::jsonb ->> 'message' AS message
  FROM asked q
 CROSS JOIN LATERAL ts_stat(format(
   $q$SELECT array_to_tsvector(ARRAY[jsonb_build_object('enqueued_at', enqueued_at, 'vt', vt, 'reads', read_ct, 'message', left(message::text, 400))::text])
        FROM pgmq.%I WHERE msg_id = %L::int8$q$, q.relname, substring(:id FROM '/(\d{1,18})$'))) AS m
