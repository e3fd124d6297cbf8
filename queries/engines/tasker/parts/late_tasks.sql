-- Tasks that the poller should have taken long ago: pending ones, and those with a ready step that it still finds. `others`: how
-- many tasks orchestrators picked up meanwhile. If none, none is running, or they cannot work. The poller ranks at most ten times
-- as many tasks as it takes, by priority and age, so tasks that are not ready can fill its list. parts/unpolled_tasks.sql has those
-- that it ignores.
-- Indexes: those of the included parts, task_transitions_pkey if a task is late, tasks_pkey for the ranked tasks if others were
-- picked up.
wanted AS (SELECT unnest(ARRAY['pending', 'waiting_for_dependencies', 'waiting_for_retry']) AS to_state),
\ir open_tasks.sql
, waiting AS MATERIALIZED (
  SELECT o.task_uuid, o.to_state, o.at
    FROM open_tasks o
   WHERE o.to_state <> 'pending' AND o.at < now() - :not_picked_up
     AND o.at >= now() - CASE o.to_state WHEN 'waiting_for_retry' THEN interval '30 min' ELSE interval '60 min' END
   ORDER BY o.at, o.task_uuid LIMIT 500
),
asked AS (SELECT w.task_uuid FROM waiting w),
\ir readiness.sql
, late AS MATERIALIZED (
  SELECT o.task_uuid, o.to_state, o.at AS since, NULL::int8 AS ready
    FROM open_tasks o WHERE o.to_state = 'pending' AND o.at < now() - :not_picked_up
  UNION ALL
  SELECT w.task_uuid, w.to_state, greatest(w.at, w.ready_at), w.ready
    FROM (SELECT w.*, r.failed, r.ready, r.ready_at FROM waiting w FULL JOIN readiness r ON r.task_uuid = w.task_uuid OFFSET 0) AS w
   WHERE w.failed = 0 AND w.ready > 0 AND w.ready_at < now() - :not_picked_up
   ORDER BY 3, 1 LIMIT :limit
),
picked AS MATERIALIZED (
  SELECT x.task_uuid
    FROM (SELECT x.task_uuid, x.to_state, x.created_at FROM :"schema".task_transitions x
           WHERE EXISTS (SELECT FROM late) ORDER BY x.task_transition_uuid DESC LIMIT 1000) AS x
   WHERE x.to_state IN ('initializing', 'enqueuing_steps') AND x.created_at > now() - :picked_up
),
ranked_rows AS MATERIALIZED (
  SELECT t.task_uuid, t.priority, t.created_at, t.named_task_uuid FROM :"schema".tasks t
   WHERE t.task_uuid = ANY (ARRAY(SELECT o.task_uuid FROM open_tasks o WHERE EXISTS (SELECT FROM picked)
                                  UNION SELECT p.task_uuid FROM picked p))
),
ranked AS MATERIALIZED (
  SELECT t.task_uuid, o.at IS NOT NULL AS listed,
         CASE WHEN o.at > now() - interval '1 hour' THEN t.priority + (extract(epoch FROM now()) - extract(epoch FROM t.created_at))::float8 / 3600 * 0.1
              WHEN o.at > now() - interval '24 hours' THEN t.priority * exp(-extract(epoch FROM now() - o.at)::float8 / (12 * 3600.0))
              ELSE 0.1 END AS rank, t.priority, t.named_task_uuid
    FROM ranked_rows t FULL JOIN open_tasks o ON o.task_uuid = t.task_uuid -- never by nested loops
   WHERE t.task_uuid IS NOT NULL
),
placed AS (SELECT r.*, count(*) FILTER (WHERE r.listed) OVER (ORDER BY r.rank DESC RANGE UNBOUNDED PRECEDING) - 1 AS before FROM ranked r),
others AS MATERIALIZED (
  SELECT count(*) AS n, min(r.priority) AS least, array_agg(DISTINCT r.named_task_uuid) AS templates
    FROM ranked r WHERE r.task_uuid IN (SELECT p.task_uuid FROM picked p)
),
nodes AS (
  SELECT 'task:' || l.task_uuid AS id, l.*, r.before, n.name AS template, o.n AS others,
         CASE WHEN r.priority < o.least THEN 'only tasks of higher priority were picked up'
              WHEN r.before >= :poller_list THEN 'many waiting tasks rank before it and fill the list of the poller'
              WHEN r.named_task_uuid <> ALL (o.templates) THEN 'no task of its template was picked up'
              ELSE 'the cause is unknown; another session may lock its rows' END AS reason
    FROM late l
    LEFT JOIN placed r ON r.task_uuid = l.task_uuid
    LEFT JOIN :"schema".named_tasks n ON n.named_task_uuid = r.named_task_uuid
   CROSS JOIN others o
),
more AS (SELECT EXISTS (SELECT FROM open_tasks o WHERE o.task_uuid IS NULL) AS more),
unread AS (SELECT NULL::text AS unread WHERE (SELECT count(*) FROM waiting) = 500)
