-- The places of the requested messages, with the transaction or MultiXact that locked each last.
\ir messages_asked.sql
     $q$SELECT array_to_tsvector(ARRAY[jsonb_build_object('id', msg_id, 'relation', tableoid, 'place', ctid, 'locker', xmax::text)::text])
          FROM pgmq.%I WHERE msg_id = ANY (%L::int8[])$q$, t.relname, w.ids)) AS m
)
SELECT 'message:' || r.queue || '/' || (r.m ->> 'id') AS id, (r.m ->> 'relation')::oid AS relation, r.m ->> 'place' AS place,
       (r.m ->> 'locker')::xid AS locker
  FROM read r
