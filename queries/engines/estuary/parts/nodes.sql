-- The tasks of the CTE due, with their timeout and the names of their type and executor.
nodes AS (
  SELECT t.*, 'task:' || t.task_id AS id, t.heartbeat = '0001-01-01T00:00:00Z'::timestamptz AS idle,
         coalesce(n.name, 'type ' || t.task_type) AS type,
         coalesce(:settings -> 'executors' ->> t.task_type::text, n.name, 'type ' || t.task_type) AS executor,
         :heartbeat_timeout_of_kind AS timeout
    FROM due t CROSS JOIN LATERAL (SELECT :settings -> 'names' ->> t.task_type::text AS name) AS n
)
