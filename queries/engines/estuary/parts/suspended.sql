-- Suspended tasks: idle and without a wake_at. All, or those of the given ids.
suspended AS NOT MATERIALIZED (
  SELECT t.* FROM :"schema".tasks t
   WHERE (:ids IS NULL OR t.task_id = ANY (:task_keys))
     AND t.wake_at IS NULL
     AND t.heartbeat = '0001-01-01T00:00:00Z'::timestamptz
)
