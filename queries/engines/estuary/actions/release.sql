-- Make tasks of a dead executor idle and due. The heartbeat must be older than the timeout: with a younger heartbeat a
-- poll may be running, and a second executor would take the task. By the engine's rule, an executor aborts its poll
-- when the heartbeat is older than 75 % of the timeout; early relies on that rule. Messages in inbox_next are appended
-- to the inbox: if they stayed in inbox_next, later messages would be read first.
-- Indexes: tasks_pkey; for the witnesses idx_tasks_ready_at.

-- :lock
SELECT 'task:' || t.task_id AS id, t.xmin::text AS version, t.heartbeat::text AS steady
  FROM :"schema".tasks t WHERE t.task_id = ANY (:task_keys)
 ORDER BY t.task_id
   FOR NO KEY UPDATE SKIP LOCKED

-- :refused
SELECT 'task:' || t.task_id AS id,
       CASE WHEN t.heartbeat = '0001-01-01T00:00:00Z'::timestamptz THEN 'the task is idle: it has no lock to release'
            WHEN t.heartbeat < now() - 0.75 * :heartbeat_timeout_of_kind
            THEN 'the heartbeat is younger than the timeout. By the engine''s rule, the executor has aborted its poll: set early to act now, or wait'
            ELSE 'the heartbeat is younger than the timeout: a poll may be running. Fence the task instead, or wait' END AS why,
       t.heartbeat <> '0001-01-01T00:00:00Z'::timestamptz AND isfinite(t.heartbeat) AS for_now
  FROM :"schema".tasks t WHERE t.task_id = ANY (:task_keys)
   AND (t.heartbeat = '0001-01-01T00:00:00Z'::timestamptz
        OR t.heartbeat >= now() - CASE WHEN (:args ->> 'early')::bool THEN 0.75 ELSE 1 END * :heartbeat_timeout_of_kind)

-- :witnesses
WITH \ir ../parts/witnesses.sql
SELECT w.id, w.witness, w.verdict, w.detail, w.since FROM witnesses w

-- :change
UPDATE :"schema".tasks t
   SET heartbeat = '0001-01-01T00:00:00Z'::timestamptz, inbox = t.inbox || t.inbox_next, inbox_next = NULL, wake_at = least(t.wake_at, now())
  FROM unnest(:ids, :versions) AS seen(id, version)
 WHERE t.task_id = substr(seen.id, 6)::macaddr8
   AND t.xmin::text = seen.version
   AND t.heartbeat <> '0001-01-01T00:00:00Z'::timestamptz
   AND t.heartbeat < now() - CASE WHEN (:args ->> 'early')::bool THEN 0.75 ELSE 1 END * :heartbeat_timeout_of_kind
RETURNING 'task:' || t.task_id AS id
