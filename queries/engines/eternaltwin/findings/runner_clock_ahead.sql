-- The runner, if it dates its polls ahead of the server's clock: at least three tasks have such polls, and no poll is dated
-- within the threshold clock_ahead. One such poll is an edited row, not a clock.
-- Index: task__available_polled_at__idx backwards, the 200 tasks polled last.
WITH newest AS MATERIALIZED (
  SELECT (polled_at).time AS polled
    FROM :"schema".task WHERE status = 'Available' AND polled_at IS DISTINCT FROM NULL ORDER BY polled_at DESC LIMIT 200
),
ahead AS (
  SELECT min(n.polled) AS first, max(n.polled) AS last, count(*) AS tasks
    FROM newest n
   WHERE isfinite(n.polled) AND n.polled > now() + :clock_ahead
)
SELECT 'runner:runner' AS id, NULL::float8 AS since,
       jsonb_build_object('newest_poll', date_trunc('second', a.last)::text, 'ahead', date_trunc('second', a.last - now())::text, 'tasks', a.tasks) AS evidence
  FROM ahead a
 WHERE a.tasks >= 3
   AND (:ids IS NULL OR 'runner:runner' = ANY (:ids))
   AND NOT EXISTS (SELECT FROM newest n
                    WHERE n.polled BETWEEN now() - :clock_ahead
                                       AND now() + :clock_ahead)
