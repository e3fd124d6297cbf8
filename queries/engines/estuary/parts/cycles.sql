-- Tasks that wait for their children, and that are among their own ancestors. All tasks of such a cycle wait, so none
-- continues.
-- needs: task_scan
-- needs of ids: none
-- Index: tasks_pkey, once for each of at most 50 ancestors; of all tasks only for those whose parent is one of them.
\ir suspended.sql
, starts AS MATERIALIZED (
  SELECT t.task_id::macaddr8 AS task_id, t.parent_id::macaddr8 AS parent_id
    FROM suspended t
   WHERE t.parent_id <> '00:00:00:00:00:00:00:00'::macaddr8
     AND coalesce(cardinality(t.inbox), 0) = 0
     AND :settings -> 'pending' ? t.task_type::text
),
walk AS (
  SELECT s.task_id AS start, s.parent_id AS at, 1 AS length, s.task_id AS least FROM starts s
   WHERE :ids IS NOT NULL OR s.parent_id IN (SELECT o.task_id FROM starts o)
  UNION ALL
  SELECT w.start, p.parent_id, w.length + 1, least(w.least, p.task_id)
    FROM walk w
   CROSS JOIN LATERAL (SELECT t.task_id::macaddr8 AS task_id, t.parent_id::macaddr8 AS parent_id
                         FROM :"schema".tasks t
                        WHERE t.task_id = w.at AND t.wake_at IS NULL AND t.heartbeat = '0001-01-01T00:00:00Z'::timestamptz
                          AND coalesce(cardinality(t.inbox), 0) = 0 AND :settings -> 'pending' ? t.task_type::text
                        LIMIT 1) AS p
   WHERE w.at <> w.start AND w.length < 50
),
nodes AS (SELECT 'task:' || w.start AS id, w.* FROM walk w WHERE w.at = w.start)
