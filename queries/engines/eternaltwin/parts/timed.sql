-- The runner, if timers are overdue and the newest poll is old. It is a finding of its own, because not every role may
-- read task_timer. In a large table only the polls of Available tasks and of those with the next timers can be read.
-- Indexes: task__available_polled_at__idx backwards. If no poll of an Available task is recent: task_timer_pkey, the
-- first 100 overdue timers and the next 100; task_pkey, once for each.
\ir newest_poll.sql
, timed AS MATERIALIZED (
  SELECT m.overdue, (t.polled_at).time AS polled
    FROM ((SELECT task_id, true AS overdue FROM :"schema".task_timer
            WHERE deadline < now() - :overdue_timer ORDER BY deadline LIMIT 100)
          UNION ALL
          (SELECT task_id, false FROM :"schema".task_timer WHERE deadline > now() ORDER BY deadline LIMIT 100)) AS m
   CROSS JOIN LATERAL (SELECT o.polled_at, o.status FROM :"schema".task o WHERE o.task_id = m.task_id LIMIT 1) AS t
   WHERE coalesce((SELECT a.poll FROM newest_poll a), '-infinity') < now() - :runner_silent
     AND t.status = 'Blocked'
),
nodes AS (
  SELECT 'runner:runner' AS id, (SELECT count(*) FROM timed m WHERE m.overdue) AS timers,
         greatest(a.poll, (SELECT max(m.polled) FROM timed m WHERE m.polled < now() + :clock_ahead)) AS poll
    FROM newest_poll a
)
