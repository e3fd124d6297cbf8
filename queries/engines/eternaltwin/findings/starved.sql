-- Tasks that are Available for a long time and were never polled. The partial index sorts such rows last, and the
-- runner polls them last. A tick that reaches the last row gives all Available tasks one time. Two ticks with at least
-- 20 tasks each, and tasks of several kinds that were never polled, show that the runner does not reach them.
-- Index: task__available_polled_at__idx backwards, at most 5,000 rows. If there are starved tasks: the 2,000 tasks
-- polled last.
WITH starved AS MATERIALIZED (
  SELECT t.task_id, t.kind, t.kind_version, t.created_at
    FROM (SELECT * FROM :"schema".task WHERE status = 'Available' ORDER BY polled_at DESC LIMIT 5000) AS t
   WHERE (t.polled_at).time IS NULL
     AND t.created_at < now() - :starved_of_kind
),
ticks AS MATERIALIZED (
  SELECT count(*) AS tasks, mode() WITHIN GROUP (ORDER BY t.kind || ' v' || t.kind_version) AS kind
    FROM (SELECT kind, kind_version, (polled_at).time AS polled FROM :"schema".task
           WHERE EXISTS (SELECT FROM starved) AND status = 'Available' AND polled_at IS DISTINCT FROM NULL
           ORDER BY polled_at DESC LIMIT 2000) AS t
   WHERE t.polled > now() - :starved
   GROUP BY t.polled
  HAVING count(*) >= 20
),
busy AS MATERIALIZED (
  SELECT sum(k.tasks) AS tasks, mode() WITHIN GROUP (ORDER BY k.kind) AS kind,
         count(*) >= 2 AND (SELECT count(DISTINCT s.kind) FROM starved s) >= 2 AS yes
    FROM ticks k
)
(SELECT 'task:' || s.task_id AS id, extract(epoch FROM s.created_at)::float8 AS since,
        jsonb_build_object('created_at', date_trunc('second', s.created_at)::text, 'kind', s.kind, 'kind_version', s.kind_version,
                           'which', CASE WHEN b.yes THEN 'of several kinds' ELSE 'of ' || s.kind || ' v' || s.kind_version END,
                           'look', CASE WHEN b.yes THEN 'The runner polls ' || b.tasks || ' other tasks again and again, most of them of ' || b.kind || ', and does not reach new ones'
                                        ELSE 'The runner does not know the kind, or never reaches it' END) AS evidence
   FROM starved s CROSS JOIN busy b
  WHERE :ids IS NULL OR s.task_id = ANY (:task_keys)
  ORDER BY s.created_at, s.task_id
  LIMIT :limit)
UNION ALL
SELECT NULL, NULL, NULL WHERE :ids IS NULL AND EXISTS (SELECT FROM (SELECT polled_at FROM :"schema".task WHERE status = 'Available' ORDER BY polled_at DESC OFFSET 5000 LIMIT 1) AS o WHERE (o.polled_at).time IS NULL)
