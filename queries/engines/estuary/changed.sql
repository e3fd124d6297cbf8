-- Changes since a time: new tasks, tasks that became due, and heartbeats of locked tasks. A row without an id says what
-- was not searched. Times after the present are omitted.
-- cursor: JSON object with the last place of each part on the previous page, or NULL
-- Indexes: tasks_pkey backwards, because an id starts with the milliseconds since 1,600,000,000; idx_tasks_ready_at
-- backwards, 1,000 tasks; one on tasks(heartbeat) if it exists, 1,000 tasks, else the 5,000 tasks with the earliest
-- wake_at.
-- title: recorded: the creation of a task, the time at which it became due, and the heartbeat of its poll; not recorded: the end of a poll, messages, and the status before; the row of a finished task is deleted
WITH c AS MATERIALIZED (
  SELECT to_timestamp(:since) AS since,
         lpad(to_hex(least(greatest((:since - 1600000000) * 1000, 0), 1099511627775)::int8 << 23), 16, '0')::macaddr8 AS oldest,
         coalesce((g.c ->> 'new')::macaddr8,
                  lpad(to_hex(least((extract(epoch FROM now()) + 3600 - 1600000000) * 1000, 1099511627775)::int8 << 23), 16, '0')::macaddr8) AS newest,
         coalesce(split_part(g.c ->> 'due', '|', 1)::timestamptz, now()) AS due, split_part(g.c ->> 'due', '|', 2) AS due_task,
         coalesce(split_part(g.c ->> 'beat', '|', 1)::timestamptz, now()) AS beat, split_part(g.c ->> 'beat', '|', 2) AS beat_task
    FROM (SELECT :cursor::text::jsonb AS c) AS g
),
due AS MATERIALIZED (
  SELECT t.task_id, t.wake_at FROM :"schema".tasks t
   WHERE t.wake_at >= (SELECT since FROM c) AND t.wake_at <= (SELECT due FROM c)
   ORDER BY t.wake_at DESC LIMIT 1000
),
waiting AS MATERIALIZED (
  SELECT t.task_id, t.heartbeat FROM :"schema".tasks t
   WHERE t.wake_at <= now() AND NOT 'task_by_heartbeat' = ANY (:met_needs)
   ORDER BY t.wake_at LIMIT 5000
),
beats AS MATERIALIZED (
  SELECT w.task_id, w.heartbeat FROM waiting w
   WHERE w.heartbeat <> '0001-01-01T00:00:00Z'::timestamptz AND w.heartbeat >= (SELECT since FROM c) AND w.heartbeat <= (SELECT beat FROM c)
  UNION ALL
  (SELECT t.task_id, t.heartbeat FROM :"schema".tasks t
    WHERE 'task_by_heartbeat' = ANY (:met_needs) AND t.heartbeat <> '0001-01-01T00:00:00Z'::timestamptz
      AND t.heartbeat >= (SELECT since FROM c) AND t.heartbeat <= (SELECT beat FROM c)
    ORDER BY t.heartbeat DESC LIMIT 1000)
)
(SELECT 'task:' || t.task_id AS id, (1600000000 + (('x' || replace(t.task_id::text, ':', ''))::bit(64)::bigint >> 23) / 1000.0)::float8 AS at,
        'created' AS what, NULL::text AS old, NULL::text AS new, 'new' AS part, t.task_id::text AS place, false AS routine
   FROM (SELECT t.task_id FROM :"schema".tasks t
          WHERE t.task_id >= (SELECT oldest FROM c) AND t.task_id < (SELECT newest FROM c) ORDER BY t.task_id DESC LIMIT :limit) AS t
  ORDER BY t.task_id DESC)
UNION ALL
(SELECT 'task:' || d.task_id, extract(epoch FROM d.wake_at)::float8, 'became due', NULL, NULL, 'due', d.wake_at || '|' || d.task_id, true
   FROM due d CROSS JOIN c
  WHERE c.due_task IS NULL OR d.wake_at < c.due OR d.task_id < c.due_task::macaddr8
  ORDER BY d.wake_at DESC, d.task_id DESC
  LIMIT :limit)
UNION ALL
(SELECT 'task:' || b.task_id, extract(epoch FROM b.heartbeat)::float8, 'heartbeat', NULL, NULL, 'beat', b.heartbeat || '|' || b.task_id, true
   FROM beats b CROSS JOIN c
  WHERE c.beat_task IS NULL OR b.heartbeat < c.beat OR b.task_id < c.beat_task::macaddr8
  ORDER BY b.heartbeat DESC, b.task_id DESC
  LIMIT :limit)
UNION ALL
SELECT NULL, NULL, 'heartbeats are searched only in due tasks, in the 5,000 with the earliest wake_at', NULL, NULL, NULL, NULL, NULL
 WHERE NOT 'task_by_heartbeat' = ANY (:met_needs)
UNION ALL
SELECT NULL, NULL, 'of tasks that became due at the same time, only 1,000 are searched, and none before them', NULL, NULL, NULL, NULL, NULL
 WHERE (SELECT count(*) = 1000 AND min(wake_at) = max(wake_at) FROM due)
UNION ALL
SELECT NULL, NULL, 'of equal heartbeats, only 1,000 are searched, and none before them', NULL, NULL, NULL, NULL, NULL
 WHERE 'task_by_heartbeat' = ANY (:met_needs) AND (SELECT count(*) = 1000 AND min(heartbeat) = max(heartbeat) FROM beats)
