-- Blocked tasks whose only known timer is far beyond those of their kind: more than the threshold due_far_ahead from
-- now, and more than 20 times the usual distance of the kind's next timers, or ten years without them. An overflowed
-- delay looks so, or one of a calendar: only far ones are beyond each calendar.
-- Indexes: task_timer_pkey backwards, the last 200 timers; task_pkey. If one of them is that far: the next 500 timers,
-- too.
far AS MATERIALIZED (
  SELECT m.deadline, t.*
    FROM (SELECT task_id, deadline FROM :"schema".task_timer
           WHERE deadline > now() + :due_far_ahead
           ORDER BY deadline DESC LIMIT 200) AS m
   CROSS JOIN LATERAL (SELECT o.task_id, o.kind, o.kind_version, o.status FROM :"schema".task o WHERE o.task_id = m.task_id LIMIT 1) AS t
   WHERE t.status = 'Blocked'
     AND (:ids IS NULL OR m.task_id = ANY (:task_keys))
),
near AS MATERIALIZED (
  SELECT m.task_id, m.deadline, t.kind
    FROM (SELECT task_id, deadline FROM :"schema".task_timer WHERE EXISTS (SELECT FROM far) AND deadline > now() ORDER BY deadline LIMIT 500) AS m
   CROSS JOIN LATERAL (SELECT o.kind FROM :"schema".task o WHERE o.task_id = m.task_id LIMIT 1) AS t
),
usual AS (
  SELECT n.kind, percentile_disc(0.5) WITHIN GROUP (ORDER BY n.deadline - now()) AS distance
    FROM near n
   WHERE isfinite(n.deadline) AND n.deadline < now() + :due_far_ahead
   GROUP BY n.kind
),
nodes AS (
  SELECT 'task:' || f.task_id AS id, f.*, u.distance, f.deadline > now() + interval '10 years' AS far
    FROM far f LEFT JOIN usual u ON u.kind = f.kind
   WHERE NOT EXISTS (SELECT FROM near n WHERE n.task_id = f.task_id AND n.deadline < f.deadline)
),
more AS (SELECT count(*) = 200 AS more FROM far)
