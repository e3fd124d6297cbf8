-- Steps that wait far longer for a worker or an orchestrator than steps of their name usually do, if their queue is in
-- `silent(queue_name, why)`: it tells nothing. A row there without a queue is for all others. A row without an id marks
-- a truncated search.
-- Indexes: those of the included parts, tasks_pkey; at most 500 steps; idx_workflow_steps_named_step, the one on
-- workflow_step_transitions(workflow_step_uuid, sort_key): at most 20 steps of each of 5 names.
overdue AS (
  WITH wanted AS (
    SELECT unnest(ARRAY['enqueued', 'enqueued_for_orchestration', 'enqueued_as_error_for_orchestration']) AS to_state
     WHERE EXISTS (SELECT FROM silent)
  ),
\ir open_steps.sql
, \ir ended_tasks.sql
, waiting AS MATERIALIZED (
    SELECT s.workflow_step_uuid, s.task_uuid, s.named_step_uuid, s.to_state, s.at
      FROM open_steps s
     WHERE s.at < now() - :overdue_least AND s.task_uuid NOT IN (SELECT t.task_uuid FROM ended_tasks t)
     ORDER BY s.at, s.workflow_step_uuid LIMIT 500
  ),
  their_tasks AS MATERIALIZED (
    SELECT t.task_uuid, t.named_task_uuid
      FROM :"schema".tasks t WHERE t.task_uuid = ANY (ARRAY(SELECT w.task_uuid FROM waiting w))
  ),
  unexplained AS MATERIALIZED (
    SELECT o.*, coalesce(s.why, a.why) AS why
      FROM (SELECT w.*, CASE w.to_state WHEN 'enqueued' THEN 'worker_' || p.name || '_queue'
                                        ELSE 'orchestration_step_results' END AS queue
              FROM waiting w
              JOIN their_tasks t ON t.task_uuid = w.task_uuid
              JOIN :"schema".named_tasks n ON n.named_task_uuid = t.named_task_uuid
              JOIN :"schema".task_namespaces p ON p.task_namespace_uuid = n.task_namespace_uuid) AS o
      LEFT JOIN silent s ON s.queue_name = o.queue
      LEFT JOIN silent a ON a.queue_name IS NULL
     WHERE s.why IS NOT NULL OR a.why IS NOT NULL
  ),
  names AS MATERIALIZED (
    SELECT u.named_step_uuid, u.to_state FROM unexplained u GROUP BY 1, 2 ORDER BY min(u.at), 1, 2 LIMIT 5
  ),
  usual AS MATERIALIZED (
    SELECT k.named_step_uuid, k.to_state, percentile_cont(0.95) WITHIN GROUP (ORDER BY l.wait) AS p95
      FROM names k
     CROSS JOIN LATERAL (
           SELECT s.workflow_step_uuid
             FROM (SELECT s.workflow_step_uuid, s.processed FROM :"schema".workflow_steps s
                    -- BETWEEN one value and ORDER BY on it: the planner then uses this index.
                    WHERE s.named_step_uuid BETWEEN k.named_step_uuid AND k.named_step_uuid
                    ORDER BY s.named_step_uuid DESC LIMIT 20) AS s
            WHERE s.processed) AS r
     CROSS JOIN LATERAL (
           SELECT x.to_state,
                  (extract(epoch FROM lead(x.created_at) OVER (ORDER BY x.sort_key)) - extract(epoch FROM x.created_at))::float8 AS wait
             FROM :"schema".workflow_step_transitions x
            WHERE x.workflow_step_uuid BETWEEN r.workflow_step_uuid AND r.workflow_step_uuid) AS l
     WHERE l.to_state = k.to_state AND l.wait >= 0 AND l.wait < 'Infinity'
     GROUP BY 1, 2 HAVING count(*) >= 5
  )
  (SELECT 'step:' || u.workflow_step_uuid AS id, extract(epoch FROM u.at)::float8 AS since,
          jsonb_build_object('task', u.task_uuid, 'step', u.workflow_step_uuid, 'name', n.name, 'state', u.to_state, 'queue', u.queue,
            'age', date_trunc('second', now() - u.at)::text, 'usual', coalesce(round(k.p95::numeric, 1) || ' s', 'unknown'), 'why', u.why,
            'compared', coalesce('Steps of this name usually wait ' || make_interval(secs => round(least(k.p95, 1e9)::numeric, 1)),
            'Fewer than 5 waits of steps of this name are known, so any wait over ' || :overdue || ' is named')) AS evidence
     FROM unexplained u
     JOIN :"schema".named_steps n ON n.named_step_uuid = u.named_step_uuid
     LEFT JOIN usual k ON k.named_step_uuid = u.named_step_uuid AND k.to_state = u.to_state
    WHERE u.at < now() - CASE WHEN k.p95 IS NULL THEN :overdue
                              ELSE make_interval(secs => least(:overdue_factor * k.p95, 1e9)) END
    ORDER BY since, id
    LIMIT :limit)
  UNION ALL
  SELECT NULL, NULL, NULL
   WHERE EXISTS (SELECT FROM open_steps s WHERE s.workflow_step_uuid IS NULL) OR (SELECT count(*) FROM waiting) = 500
)
