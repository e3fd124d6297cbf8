-- Notify workers of the jobs in `changed`. The engine's trigger does not do so for updates, and without it workers see a
-- job at their next poll.
notified AS (
  SELECT 'job:' || c.id AS id
    FROM changed c
   CROSS JOIN LATERAL (
     SELECT pg_notify(:'ch_pgqueuer', json_build_object('channel', :'ch_pgqueuer', 'operation', 'update', 'sent_at', now(),
                                                        'table', :'pgqueuer', 'type', 'table_changed_event')::text)
      WHERE c.id IS NOT NULL) AS n
)
