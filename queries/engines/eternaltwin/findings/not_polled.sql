-- Available tasks that were polled before, but not for long, while the runner polls other tasks. A task that a timer
-- made Available a moment ago looks the same, but its row has just changed. A task counts only if polls of three other
-- ticks were written since its row changed: the runner polls the task that waits longest first. For five tasks of a
-- kind and version it is enough that three tasks were polled since that were created after their polls. The age of a
-- row is that of its xmin.
-- Indexes: task__available_polled_at__idx, the 2,000 tasks polled least recently before the threshold. If there are
-- any: the 2,000 polled last, and task_timer_pkey with task_pkey for the Blocked tasks of the next 100 timers. A small
-- table is scanned instead.
WITH old AS MATERIALIZED (
  SELECT task_id, kind, kind_version, (polled_at).time AS polled, age(xmin) AS changed
    FROM :"schema".task
   WHERE status = 'Available'
     AND polled_at < row(now() - :not_polled, 0):::"schema".job_tick
   ORDER BY polled_at
   LIMIT 2000
),
recent AS MATERIALIZED (
  SELECT kind, kind_version, created_at, (polled_at).time AS polled, age(xmin) AS changed
    FROM :"schema".task
   WHERE EXISTS (SELECT FROM old) AND status = 'Available' AND polled_at IS DISTINCT FROM NULL
   ORDER BY polled_at DESC
   LIMIT 2000
),
idle AS MATERIALIZED (
  SELECT t.kind, t.kind_version, t.created_at, (t.polled_at).time AS polled, age(t.xmin) AS changed
    FROM :"schema".task t
   WHERE EXISTS (SELECT FROM old) AND 'task_scan' = ANY (:met_needs) AND t.status <> 'Available'
  UNION ALL
  SELECT t.*
    FROM (SELECT task_id FROM :"schema".task_timer
           WHERE EXISTS (SELECT FROM old) AND NOT 'task_scan' = ANY (:met_needs) AND deadline > now()
           ORDER BY deadline LIMIT 100) AS m
   CROSS JOIN LATERAL (SELECT o.kind, o.kind_version, o.created_at, (o.polled_at).time AS polled, age(o.xmin) AS changed
                         FROM :"schema".task o WHERE o.task_id = m.task_id AND o.status = 'Blocked' LIMIT 1) AS t
),
polls AS MATERIALIZED (
  SELECT r.* FROM (SELECT * FROM recent UNION ALL SELECT * FROM idle) AS r
   WHERE r.polled > now() - :not_polled
     AND r.polled < now() + :clock_ahead
),
settled AS (
  SELECT k.changed FROM (SELECT min(p.changed) AS changed FROM polls p GROUP BY p.polled) AS k ORDER BY k.changed OFFSET 2 LIMIT 1
),
groups AS (
  SELECT g.kind, g.kind_version,
         (SELECT p.changed FROM polls p WHERE p.created_at > g.newest ORDER BY p.changed OFFSET 2 LIMIT 1) AS changed
    FROM (SELECT o.kind, o.kind_version, max(o.polled) AS newest FROM old o GROUP BY o.kind, o.kind_version HAVING count(*) >= 5) AS g
)
(SELECT 'task:' || t.task_id AS id, CASE WHEN isfinite(t.polled) THEN extract(epoch FROM t.polled)::float8 END AS since,
        jsonb_build_object('kind', t.kind, 'kind_version', t.kind_version, 'polled_at', date_trunc('second', t.polled)::text,
                           'look', CASE WHEN EXISTS (SELECT FROM polls p WHERE p.kind = t.kind AND p.kind_version = t.kind_version)
                                        THEN 'Other tasks of its kind and version are polled: the runner passes it over, or its polls end without a result'
                                        WHEN EXISTS (SELECT FROM polls p WHERE p.kind = t.kind)
                                        THEN 'Only other versions of its kind are polled: the runner may not support this version'
                                        ELSE 'No task of its kind is polled: the runner may not support it, or its polls end without a result' END) AS evidence
   FROM old t LEFT JOIN groups g ON g.kind = t.kind AND g.kind_version = t.kind_version
  WHERE t.changed >= least((SELECT s.changed FROM settled s), g.changed)
    AND t.polled < now() - :not_polled_of_kind
    AND EXISTS (SELECT FROM polls p WHERE p.polled > now() - :runner_silent)
    AND (:ids IS NULL OR t.task_id = ANY (:task_keys))
  ORDER BY t.polled, t.task_id
  LIMIT :limit)
UNION ALL
SELECT NULL, NULL, NULL WHERE :ids IS NULL AND (SELECT count(*) FROM old) = 2000
