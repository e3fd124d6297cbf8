-- title: Recorded values
-- kinds: task
-- Index: tasks_pkey, for the task and its parent.
SELECT t.task_type::text AS type, t.wake_at::text AS wake_at,
       CASE WHEN t.heartbeat = '0001-01-01T00:00:00Z'::timestamptz THEN 'none: idle' ELSE t.heartbeat::text END AS heartbeat,
       coalesce(:settings -> t.task_type::text ->> 'heartbeat_timeout', :settings ->> 'heartbeat_timeout') || ' s' AS timeout,
       CASE WHEN t.parent_id IS NULL THEN 'none'
            WHEN t.parent_id = '00:00:00:00:00:00:00:00'::macaddr8 THEN 'none: all zero'
            WHEN t.parent_id = t.task_id THEN 'itself'
            ELSE t.parent_id || CASE WHEN (SELECT p.task_id FROM :"schema".tasks p WHERE p.task_id = t.parent_id) IS NULL THEN ', which does not exist' ELSE '' END
       END AS parent,
       (('x' || replace(t.task_id::text, ':', ''))::bit(64)::bigint & 1023)::text AS shard,
       coalesce(octet_length(t.inner_state::text) || ' bytes', 'none') AS state,
       coalesce(cardinality(t.inbox), 0)::text AS inbox, coalesce(cardinality(t.inbox_next), 0)::text AS inbox_next
  FROM :"schema".tasks t
 WHERE t.task_id = substr(:id, 6)::macaddr8
