-- The runner, if it works but dates its polls in the past. A poll that sleeps inserts its timer in its own transaction,
-- so the xmin of timer and task show that the poll wrote them, and the last checkpoint shows a time after which it did.
-- At least three such polls since then are dated before that time, in the order of their transactions, and their timers
-- are overdue: the runner waits too long. A transaction that wrote several tasks is no poll.
-- Indexes: task_timer_pkey, the first 200 overdue timers; task_pkey, once for each. Reads pg_control_checkpoint().
written AS MATERIALIZED (
  SELECT t.writer, min(t.polled) AS polled
    FROM (SELECT task_id, xmin FROM :"schema".task_timer
           WHERE deadline < now() - :overdue_timer ORDER BY deadline LIMIT 200) AS m
   CROSS JOIN LATERAL (SELECT o.xmin AS writer, (o.polled_at).time AS polled, o.status FROM :"schema".task o WHERE o.task_id = m.task_id LIMIT 1) AS t
   WHERE t.writer = m.xmin AND t.status = 'Blocked'
   GROUP BY t.writer
  HAVING count(*) = 1 AND isfinite(min(t.polled))
),
polls AS (
  SELECT w.polled, age(w.writer) AS age, c.checkpoint_time, lead(w.polled) OVER (ORDER BY age(w.writer)) AS before
    FROM (SELECT checkpoint_time, split_part(next_xid, ':', 2)::xid AS first FROM pg_control_checkpoint()) AS c
    JOIN written w ON age(w.writer) <= age(c.first)
),
nodes AS (
  SELECT 'runner:runner' AS id, max(p.polled) AS poll, max(p.checkpoint_time) AS at, count(*) AS polls, bool_and(p.before <= p.polled) AS in_order FROM polls p
)
