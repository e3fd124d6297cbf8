-- What an executor runs next on one task, :id (task:FLOWID), for unstick try: dequeue, heartbeat and persist, for one task and without SKIP LOCKED. A poll that fails writes nothing.

-- :claim
-- kinds: task
UPDATE :"schema".tasks AS t SET heartbeat = now()
 WHERE t.task_id = substr(:id, 6)::macaddr8 AND t.wake_at < now() AND t.heartbeat < now() - :heartbeat_timeout_of_kind
RETURNING t.task_id;

-- :progress
-- kinds: task
UPDATE :"schema".tasks AS t SET heartbeat = now()
  FROM (SELECT x.task_id, x.heartbeat FROM :"schema".tasks AS x WHERE x.task_id = substr(:id, 6)::macaddr8 AND x.heartbeat > '0001-01-02') AS own
 WHERE t.task_id = own.task_id AND t.heartbeat = own.heartbeat
RETURNING t.task_id;

-- :finish
-- kinds: task
UPDATE :"schema".tasks AS t
   SET heartbeat = '0001-01-01T00:00:00Z', inbox = t.inbox_next, inbox_next = NULL, inner_state = t.inner_state, wake_at = CASE WHEN t.inbox_next IS NOT NULL THEN now() ELSE now() + interval '1 minute' END
 WHERE t.task_id = substr(:id, 6)::macaddr8
RETURNING t.task_id;
