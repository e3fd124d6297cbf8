-- Notify workers, when the row is read, that jobs changed: an empty text. The engine's trigger does not do so for updates, and
-- without it workers see a job at their next poll.
notified AS (
  SELECT pg_notify(:'ch_pgqueuer', json_build_object('channel', :'ch_pgqueuer', 'operation', 'update', 'sent_at', now(),
                                                     'table', :'pgqueuer', 'type', 'table_changed_event')::text)::text AS sent
)
