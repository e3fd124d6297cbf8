-- Tasks whose poll has ended since they were made due: idle, not due, and without a message.
-- Index: tasks_pkey, for tasks that are not at their known places any more. The dead letters of a list are far apart in
-- it.
WITH wanted AS MATERIALIZED (SELECT substr(i, 6)::macaddr8 AS key FROM unnest(:ids) AS i),
there AS MATERIALIZED (SELECT t.* FROM :"schema".tasks t WHERE t.ctid = ANY (:places::text[]::tid[])),
placed AS MATERIALIZED (SELECT t.* FROM there t WHERE t.task_id IN (SELECT w.key FROM wanted w))
SELECT 'task:' || t.task_id AS id
  FROM (SELECT * FROM placed
        UNION ALL
        SELECT t.*
          FROM :"schema".tasks t
         WHERE t.task_id = ANY (ARRAY(SELECT w.key FROM wanted w WHERE w.key NOT IN (SELECT p.task_id FROM placed p)))) AS t
 WHERE t.heartbeat = '0001-01-01T00:00:00Z'::timestamptz
   AND (t.wake_at IS NULL OR t.wake_at > now())
   AND coalesce(cardinality(t.inbox), 0) = 0
