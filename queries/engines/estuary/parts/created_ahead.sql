-- Tasks whose ids were generated ahead of the server's clock. The first 41 bits of an id are milliseconds. Ids more
-- than 30 days ahead are not times.
-- Index: tasks_pkey, the ids of the next 30 days.
nodes AS MATERIALIZED (
  SELECT 'task:' || t.task_id AS id, t.task_id, t.task_type,
         to_timestamp(1600000000 + (('x' || replace(t.task_id::text, ':', ''))::bit(64)::bigint >> 23) / 1000.0) AS at
    FROM :"schema".tasks t
   WHERE t.task_id > lpad(to_hex((1000 * (extract(epoch FROM now()) + (:settings ->> 'clock_ahead')::float8 - 1600000000))::int8 << 23), 16, '0')::macaddr8
     AND t.task_id < lpad(to_hex((1000 * (extract(epoch FROM now()) + 2592000 - 1600000000))::int8 << 23), 16, '0')::macaddr8
   ORDER BY t.task_id DESC LIMIT 500
),
more AS (SELECT count(*) = 500 AS more FROM nodes)
