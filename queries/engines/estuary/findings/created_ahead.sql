-- Tasks whose ids were generated ahead of the server's clock. The first 41 bits of an id are milliseconds. Ids more than 30 days
-- ahead are not times.
-- Index: tasks_pkey, the ids of the next 30 days.
WITH ahead AS MATERIALIZED (
  SELECT task_id, task_type FROM :"schema".tasks
   WHERE task_id > lpad(to_hex((1000 * (extract(epoch FROM now()) + (:settings ->> 'clock_ahead')::float8 - 1600000000))::int8 << 23), 16, '0')::macaddr8
     AND task_id < lpad(to_hex((1000 * (extract(epoch FROM now()) + 2592000 - 1600000000))::int8 << 23), 16, '0')::macaddr8
   ORDER BY task_id DESC LIMIT 500
)
(SELECT 'task:' || t.task_id AS id, NULL::float8 AS since,
       jsonb_build_object('type', coalesce(:settings -> 'names' ->> t.task_type::text, 'type ' || t.task_type), 'created_at', date_trunc('second', c.at)::text,
                          'ahead', date_trunc('second', c.at - now())::text) AS evidence
  FROM ahead t
 CROSS JOIN LATERAL (SELECT to_timestamp(1600000000 + (('x' || replace(t.task_id::text, ':', ''))::bit(64)::bigint >> 23) / 1000.0) AS at) AS c
 WHERE :ids IS NULL OR t.task_id = ANY (:task_keys)
 ORDER BY t.task_id DESC
 LIMIT :limit)
UNION ALL
SELECT NULL, NULL, NULL WHERE :ids IS NULL AND (SELECT count(*) FROM ahead) = 500
