-- The requested messages of readable queues, as an archived row shows them.
\ir messages_asked.sql
     $q$SELECT array_to_tsvector(ARRAY[jsonb_build_object('id', msg_id, 'version', md5(enqueued_at::text || message::text), 'read', read_ct, 'message', left(message::text, 400))::text])
          FROM pgmq.%I WHERE msg_id = ANY (%L::int8[])$q$, t.relname, w.ids)) AS m
)
