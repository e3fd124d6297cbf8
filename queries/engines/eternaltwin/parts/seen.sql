-- Available tasks that were created or polled ahead of the server's clock, or that have a negative duration. A task
-- that was never polled and created ahead hides that it is late. The runner polls a task with a poll ahead of the
-- clock last.
-- Index: task__available_polled_at__idx backwards: 2,000 tasks that were never polled, and the 2,000 polled last.
seen AS MATERIALIZED (
  (SELECT task_id, kind, kind_version, created_at, (polled_at).time AS polled, cpu_duration AS cpu, poll_duration AS poll
     FROM :"schema".task WHERE status = 'Available' AND polled_at IS NOT DISTINCT FROM NULL ORDER BY polled_at LIMIT 2000)
  UNION ALL
  (SELECT task_id, kind, kind_version, created_at, (polled_at).time, cpu_duration, poll_duration
     FROM :"schema".task WHERE status = 'Available' AND polled_at IS DISTINCT FROM NULL ORDER BY polled_at DESC LIMIT 2000)
),
nodes AS (
  SELECT 'task:' || s.task_id AS id, s.*,
         CASE WHEN s.created_at > c.latest THEN 'created' WHEN s.polled > c.latest THEN 'polled'
              WHEN least(s.cpu, s.poll) < interval '0' THEN 'duration' END AS sort
    FROM seen s CROSS JOIN (SELECT now() + :clock_ahead AS latest) AS c
),
more AS (SELECT (SELECT count(*) FROM seen s WHERE s.polled IS NULL) = 2000 AS more)
