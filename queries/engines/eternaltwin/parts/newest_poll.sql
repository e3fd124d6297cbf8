-- The newest poll. In a large table only the polls of Available tasks can be read with an index. Polls dated further in
-- the future than clocks differ are ignored: such a poll would hide every real one until its time.
-- Index: task__available_polled_at__idx backwards; a small table is scanned.
newest_poll AS MATERIALIZED ( -- else each use of poll would read the polls again
  SELECT greatest(
           (SELECT max((t.polled_at).time) FROM :"schema".task t WHERE 'task_scan' = ANY (:met_needs)
               AND (t.polled_at).time < now() + :clock_ahead),
           (SELECT (t.polled_at).time
              FROM (SELECT polled_at FROM :"schema".task WHERE status = 'Available' AND polled_at IS DISTINCT FROM NULL
                     ORDER BY polled_at DESC LIMIT 5000) AS t
             WHERE (t.polled_at).time < now() + :clock_ahead
             LIMIT 1)) AS poll
)
