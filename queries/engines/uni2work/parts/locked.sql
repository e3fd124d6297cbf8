-- Locks among the oldest and the newest rows, and the newest locks if an index serves them.
locked AS MATERIALIZED (
  SELECT w.id, w.creation_time, w.lock_instance, w.lock_time
    FROM ((SELECT q.id, q.creation_time, q.lock_instance, q.lock_time FROM :"schema".queued_job q ORDER BY q.id LIMIT :window::int / 2)
          UNION ALL
          (SELECT q.id, q.creation_time, q.lock_instance, q.lock_time FROM :"schema".queued_job q ORDER BY q.id DESC LIMIT (:window::int + 1) / 2)) AS w
   WHERE w.lock_instance IS NOT NULL OR w.lock_time IS NOT NULL
  UNION
  (SELECT q.id, q.creation_time, q.lock_instance, q.lock_time FROM :"schema".queued_job q
    WHERE q.lock_time IS NOT NULL AND 'queue_by_lock_time' = ANY (:met_needs)
    ORDER BY q.lock_time DESC LIMIT :head::int)
)
