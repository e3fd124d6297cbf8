-- The tasks of `seen` (idle, wake_at, heartbeat, timeout), which the including file has, each with its status.
statuses AS (
  SELECT s.*,
         CASE WHEN s.idle AND s.wake_at IS NULL THEN 'suspended'
              WHEN s.idle AND s.wake_at <= now() THEN 'ready'
              WHEN s.idle THEN 'sleeping'
              WHEN s.heartbeat > now() - 0.75 * s.timeout THEN 'polling'
              WHEN s.heartbeat > now() - s.timeout THEN 'lapsed'
              WHEN s.wake_at <= now() THEN 'reclaimable'
              ELSE 'orphaned' END AS status
    FROM seen s
)
