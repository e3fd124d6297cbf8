-- The steps of `unexplained` that wait far longer than steps of their name usually do.
-- Indexes: idx_workflow_steps_named_step, the one on workflow_step_transitions(workflow_step_uuid, sort_key): at most 20
-- steps of each of 5 names.
names AS MATERIALIZED (SELECT u.named_step_uuid, u.to_state FROM unexplained u GROUP BY 1, 2 ORDER BY min(u.at), 1, 2 LIMIT 5),
waits AS MATERIALIZED (
  SELECT k.named_step_uuid, k.to_state, l.wait
    FROM names k
   CROSS JOIN LATERAL (
         SELECT s.workflow_step_uuid
           FROM (SELECT s.workflow_step_uuid, s.processed FROM :"schema".workflow_steps s
                  -- BETWEEN one value and ORDER BY on it: the planner then uses this index.
                  WHERE s.named_step_uuid BETWEEN k.named_step_uuid AND k.named_step_uuid
                  ORDER BY s.named_step_uuid DESC LIMIT 20) AS s
          WHERE s.processed) AS r
   CROSS JOIN LATERAL (
         SELECT x.to_state, (extract(epoch FROM lead(x.created_at) OVER (ORDER BY x.sort_key)) - extract(epoch FROM x.created_at))::float8 AS wait
           FROM :"schema".workflow_step_transitions x
          WHERE x.workflow_step_uuid BETWEEN r.workflow_step_uuid AND r.workflow_step_uuid) AS l
   WHERE l.to_state = k.to_state AND l.wait >= 0 AND l.wait < 'Infinity'
),
usual AS MATERIALIZED (
  SELECT w.named_step_uuid, w.to_state, percentile_cont(0.95) WITHIN GROUP (ORDER BY w.wait) AS p95
    FROM waits w GROUP BY 1, 2 HAVING count(*) >= 5
)
(SELECT 'step:' || u.workflow_step_uuid AS id, extract(epoch FROM u.at)::float8 AS since,
        jsonb_build_object('task', u.task_uuid, 'step', u.workflow_step_uuid, 'name', n.name, 'state', u.to_state, 'queue', u.queue,
          'age', date_trunc('second', now() - u.at)::text, 'usual', coalesce(round(k.p95::numeric, 1) || ' s', 'unknown'), 'why', u.why,
          'compared', coalesce('Steps of this name usually wait ' || round(k.p95::numeric, 1) || ' s',
            'Fewer than 5 waits of steps of this name are known, so any wait over ' || make_interval(secs => (:settings ->> 'overdue')::float8) || ' is named')) AS evidence
   FROM unexplained u
   JOIN :"schema".named_steps n ON n.named_step_uuid = u.named_step_uuid
   LEFT JOIN usual k ON k.named_step_uuid = u.named_step_uuid AND k.to_state = u.to_state
  WHERE u.at < now() - make_interval(secs => CASE WHEN k.p95 IS NULL THEN (:settings ->> 'overdue')::float8
                                                  ELSE least(:overdue_factor * k.p95, 1e9) END)
  ORDER BY since, id
  LIMIT :limit)
UNION ALL
SELECT NULL, NULL, NULL WHERE (SELECT more FROM more) OR (SELECT count(*) FROM waiting) = 500
