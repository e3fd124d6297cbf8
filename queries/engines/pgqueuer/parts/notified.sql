-- The engine's trigger does not notify of updates; without a notification a worker sees the job at its next poll.
SELECT 'job:' || c.id AS id
  FROM changed c
 CROSS JOIN LATERAL (SELECT pg_notify(:'ch_pgqueuer', json_build_object('channel', :'ch_pgqueuer', 'operation', 'update', 'sent_at', now(),
                                                                       'table', :'pgqueuer', 'type', 'table_changed_event')::text) WHERE c.id IS NOT NULL) AS n
