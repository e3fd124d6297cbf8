-- The runner, if timers are overdue and the newest poll is old. It is a finding of its own, because not every role may read
-- task_timer. In a large table only the polls of Available tasks and of those with the next timers can be read.
-- Indexes: task__available_polled_at__idx backwards. If no poll of an Available task is recent: task_timer_pkey, the first 100
-- overdue timers and the next 100; task_pkey, once for each.
WITH available AS (
\ir ../parts/newest_poll.sql
),
timed AS MATERIALIZED (
  SELECT m.overdue, (t.polled_at).time AS polled
    FROM ((SELECT task_id, true AS overdue FROM :"schema".task_timer
            WHERE deadline < now() - :overdue_timer ORDER BY deadline LIMIT 100)
          UNION ALL
          (SELECT task_id, false FROM :"schema".task_timer WHERE deadline > now() ORDER BY deadline LIMIT 100)) AS m
   CROSS JOIN LATERAL (SELECT o.polled_at, o.status FROM :"schema".task o WHERE o.task_id = m.task_id LIMIT 1) AS t
   WHERE coalesce((SELECT a.poll FROM available a), '-infinity') < now() - :runner_silent
     AND t.status = 'Blocked'
),
newest AS (
  SELECT (SELECT count(*) FROM timed m WHERE m.overdue) AS timers,
         greatest(a.poll, (SELECT max(m.polled) FROM timed m WHERE m.polled < now() + :clock_ahead)) AS poll
    FROM available a
)
SELECT 'runner:runner' AS id, CASE WHEN isfinite(n.poll) THEN extract(epoch FROM n.poll)::float8 END AS since,
       jsonb_build_object('newest_poll', coalesce(date_trunc('second', n.poll)::text, 'the beginning'),
                          'timers', CASE n.timers WHEN 100 THEN '100+' ELSE n.timers::text END) AS evidence
  FROM newest n
 WHERE n.timers > 0
   AND (:ids IS NULL OR 'runner:runner' = ANY (:ids))
   AND coalesce(n.poll, '-infinity') < now() - :runner_silent
