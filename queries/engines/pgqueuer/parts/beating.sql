-- Workers that beat, of the 1,000 newest heartbeats.
beating AS MATERIALIZED (
  SELECT o.queue_manager_id FROM :"schema".:"pgqueuer" o
   WHERE o.status = 'picked' AND o.heartbeat >= now() - :heartbeat_timeout ORDER BY o.heartbeat DESC LIMIT 1000
)
