-- Available tasks that wait for longer than the threshold, among the 2,000 polled least recently, and those that were never
-- polled among the last 5,000 of the line: the partial index sorts these last, and the runner polls them last.
-- Index: task__available_polled_at__idx, from both ends.
waiting AS MATERIALIZED (
  SELECT t.*
    FROM ((SELECT task_id, kind, kind_version, status, created_at, polled_at, (polled_at).time AS polled, xmin FROM :"schema".task
            WHERE status = 'Available' AND polled_at IS DISTINCT FROM NULL ORDER BY polled_at LIMIT 2000)
          UNION ALL
          SELECT n.* FROM (SELECT task_id, kind, kind_version, status, created_at, polled_at, (polled_at).time AS polled, xmin FROM :"schema".task
                            WHERE status = 'Available' ORDER BY polled_at DESC LIMIT 5000) AS n
           WHERE n.polled IS NULL) AS t
   WHERE coalesce(t.polled, t.created_at) < now() - :late_of_kind
)
