-- The runner, with its polls that are dated ahead of the server's clock. One such poll is an edited row, not a clock.
-- Index: task__available_polled_at__idx backwards, the 200 tasks polled last.
newest AS MATERIALIZED (
  SELECT (polled_at).time AS polled
    FROM :"schema".task
   WHERE (:ids IS NULL OR 'runner:runner' = ANY (:ids)) AND status = 'Available' AND polled_at IS DISTINCT FROM NULL
   ORDER BY polled_at DESC LIMIT 200
),
nodes AS (
  SELECT 'runner:runner' AS id, max(n.polled) AS last, count(*) AS tasks
    FROM newest n WHERE isfinite(n.polled) AND n.polled > now() + :clock_ahead
)
