-- List pending dead letters, and permanently failed tasks, which this engine does not dead-letter. Order by the engine's
-- weight of the reason, then newest first. A row without an id marks a truncated search.
-- cursor: severity|time|id of the last row of the previous page, or NULL
-- Indexes: those of the included parts, tasks_pkey, tasks_dlq_pkey, idx_dlq_unique_pending_task, the tasks' state_lookup.
WITH \ir parts/newest_tasks.sql
, blocked AS MATERIALIZED (
  SELECT x.task_uuid, x.to_state, x.created_at AS at FROM :"schema".task_transitions x
   WHERE x.most_recent AND x.to_state = 'blocked_by_failures'
     AND x.task_uuid = ANY (ARRAY(
           SELECT n.task_uuid FROM newest_tasks n WHERE :ids IS NULL AND NOT 'task_by_state' = ANY (:met_needs)
           UNION ALL
           SELECT t.task_uuid FROM :"schema".tasks t WHERE t.complete = false AND t.task_uuid = ANY (:task_keys)))
  UNION
  (SELECT x.task_uuid, x.to_state, x.created_at FROM :"schema".task_transitions x
    WHERE x.to_state = 'blocked_by_failures' AND x.most_recent AND :ids IS NULL AND 'task_by_state' = ANY (:met_needs)
    ORDER BY x.created_at LIMIT 1000)
  UNION
  (SELECT x.task_uuid, x.to_state, x.created_at FROM :"schema".task_transitions x
    WHERE x.to_state = 'blocked_by_failures' AND x.most_recent AND :ids IS NULL AND 'task_by_state' = ANY (:met_needs)
      AND x.created_at < now() - :blocked
    ORDER BY x.created_at DESC LIMIT 1000)
),
more AS (
  SELECT CASE WHEN 'task_by_state' = ANY (:met_needs) THEN (SELECT count(*) FROM blocked) >= 1000
              ELSE EXISTS (SELECT FROM newest_tasks n WHERE n.older) END AS more
),
given_up AS (SELECT o.task_uuid, o.at AS created_at, false AS by_hand FROM blocked o), -- by hand ends in error
\ir parts/decided_tasks.sql
, \ir parts/dead_letters.sql
, dead_lettered AS MATERIALIZED (
  SELECT d.task_uuid FROM :"schema".tasks_dlq d
   WHERE d.resolution_status = 'pending' AND d.task_uuid = ANY (ARRAY(SELECT o.task_uuid FROM blocked o))
),
dead AS MATERIALIZED (
  SELECT 'dead_letter:' || d.dlq_entry_uuid AS id, d.task_uuid, d.dlq_entry_uuid AS dead_letter, NULL AS to_state, d.dlq_timestamp AS at,
         CASE d.dlq_reason WHEN 'dependency_cycle_detected' THEN 9 WHEN 'max_retries_exceeded' THEN 8
              WHEN 'staleness_timeout' THEN 7 WHEN 'worker_unavailable' THEN 6 ELSE 5 END AS severity
    FROM dead_letters d
  UNION ALL
  SELECT 'task:' || o.task_uuid, o.task_uuid, NULL, o.to_state, o.at, 7
    FROM blocked o
   WHERE o.task_uuid NOT IN (SELECT l.task_uuid FROM dead_lettered l)
     AND o.task_uuid NOT IN (SELECT d.task_uuid FROM decided_tasks d)
),
page AS MATERIALIZED (
  SELECT p.*
    FROM dead p
   WHERE :cursor IS NULL
      OR (p.severity, p.at, p.id)
         < (split_part(:cursor, '|', 1)::int, split_part(:cursor, '|', 2)::timestamp, split_part(:cursor, '|', 3))
   ORDER BY p.severity DESC, p.at DESC, p.id DESC
   LIMIT :limit
),
asked AS (SELECT p.task_uuid FROM page p),
current AS MATERIALIZED (
  SELECT x.task_uuid, x.to_state FROM :"schema".task_transitions x
   WHERE x.most_recent AND x.task_uuid = ANY (ARRAY(SELECT p.task_uuid FROM page p WHERE p.dead_letter IS NOT NULL))
),
whole_dead_letters AS MATERIALIZED (
  SELECT d.dlq_entry_uuid, d.task_uuid, d.dlq_reason, d.original_state, d.task_snapshot ->> 'namespace' AS namespace,
         d.task_snapshot ->> 'task_name' AS task_name
    FROM :"schema".tasks_dlq d WHERE d.dlq_entry_uuid = ANY (ARRAY(SELECT p.dead_letter FROM page p))
),
nameless AS MATERIALIZED (
  SELECT t.task_uuid, t.named_task_uuid FROM :"schema".tasks t
   WHERE t.task_uuid = ANY (ARRAY(SELECT p.task_uuid FROM page p WHERE p.dead_letter IS NULL
                                   UNION ALL
                                  SELECT d.task_uuid FROM whole_dead_letters d WHERE d.namespace IS NULL OR d.task_name IS NULL))
),
\ir parts/failed_steps.sql
(SELECT p.id, p.severity || '|' || p.at || '|' || p.id AS cursor, p.severity::int8 AS severity, extract(epoch FROM p.at)::float8 AS since,
        coalesce(d.dlq_reason::text, 'permanently failed') || ' - '
        || coalesce(d.namespace, n.name, '?') || '/' || coalesce(d.task_name, m.name, '?') || ' - '
        || coalesce(e.name, 'was ' || d.original_state, 'no failed step') AS cause,
        CASE WHEN e.name IS NOT NULL THEN coalesce(left(e.message, 300), 'no error message') END AS error,
        d.original_state::text AS was, coalesce(p.to_state, x.to_state, 'no current state')::text AS is_now
   FROM page p
   LEFT JOIN nameless t ON t.task_uuid = p.task_uuid
   LEFT JOIN :"schema".named_tasks m ON m.named_task_uuid = t.named_task_uuid
   LEFT JOIN :"schema".task_namespaces n ON n.task_namespace_uuid = m.task_namespace_uuid
   LEFT JOIN whole_dead_letters d ON d.dlq_entry_uuid = p.dead_letter
   LEFT JOIN current x ON x.task_uuid = p.task_uuid
   LEFT JOIN (SELECT DISTINCT ON (f.task_uuid) f.* FROM failed_steps f ORDER BY f.task_uuid, f.workflow_step_uuid) AS e ON e.task_uuid = p.task_uuid
  ORDER BY p.severity DESC, p.at DESC, p.id DESC)
UNION ALL
SELECT NULL, CASE WHEN (SELECT more FROM more) THEN 'some of the unfinished tasks' ELSE 'the newest 5,000 dead letters' END,
       NULL, NULL, NULL, NULL, NULL, NULL
 WHERE :ids IS NULL AND ((SELECT more FROM more) OR (SELECT count(*) FROM dead_letters) = 5000)
