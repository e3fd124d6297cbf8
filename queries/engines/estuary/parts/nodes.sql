-- The tasks of the CTE due, with their timeout and the names of their type and executor.
nodes AS (
  SELECT d.*, 'task:' || d.task_id AS id, d.heartbeat = '0001-01-01T00:00:00Z'::timestamptz AS idle,
         coalesce(n.name, 'type ' || d.task_type) AS type,
         coalesce(:settings -> 'executors' ->> d.task_type::text, n.name, 'type ' || d.task_type) AS executor,
         make_interval(secs => coalesce(:settings -> d.task_type::text ->> 'heartbeat_timeout', :settings ->> 'heartbeat_timeout')::float8) AS timeout
    FROM due d CROSS JOIN LATERAL (SELECT :settings -> 'names' ->> d.task_type::text AS name) AS n
)
