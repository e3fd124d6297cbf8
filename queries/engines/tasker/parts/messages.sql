-- The first 2,000 messages of each readable queue of parts/queue_tables.sql. The table names are not known in advance,
-- so ts_stat reads them: it runs a query given as text. Each message is one word. It begins with the digits of the id,
-- the last one first: ts_stat puts the words into a tree without balancing it, and words in the order of time would
-- make it a list.
messages AS MATERIALIZED (
  SELECT q.queue_name, m.word::jsonb AS m
    FROM (SELECT t.queue_name, t.relname FROM queue_tables t WHERE t.unread IS NULL) AS q
   CROSS JOIN LATERAL ts_stat(format(
     $q$SELECT array_to_tsvector(ARRAY[jsonb_build_object('#', reverse(msg_id::text), 'id', msg_id, 'relation', tableoid, 'place', ctid, 'read', read_ct, 'at', extract(epoch FROM enqueued_at),
          'due', vt <= now(), 'vt', extract(epoch FROM vt), 'step', left(message ->> 'step_uuid', 64), 'task', left(message ->> 'task_uuid', 64),
          'restarts', left(message #>> '{metadata,custom,restarts}', 64))::text])
          FROM (SELECT tableoid, ctid, * FROM pgmq.%I ORDER BY msg_id LIMIT 2000) AS m$q$, q.relname)) AS m
)
