-- Available tasks of an older kind_version that are not polled, although a newer version of the kind is.
-- Index: task__available_polled_at__idx, 2,000 rows from each end.
available AS MATERIALIZED (
  (SELECT task_id, kind, kind_version, created_at, (polled_at).time AS polled FROM :"schema".task
    WHERE status = 'Available' ORDER BY polled_at LIMIT 2000)
  UNION
  (SELECT task_id, kind, kind_version, created_at, (polled_at).time FROM :"schema".task
    WHERE status = 'Available' ORDER BY polled_at DESC LIMIT 2000)
),
polled AS (
  SELECT kind, max(kind_version) AS version
    FROM (SELECT kind, kind_version, polled FROM available
          UNION ALL
          SELECT t.kind, t.kind_version, (t.polled_at).time FROM :"schema".task t WHERE 'task_scan' = ANY (:met_needs)) AS t
   WHERE t.polled > now() - :version_behind_of_kind
     AND t.polled < now() + :clock_ahead
   GROUP BY kind
),
nodes AS (
  SELECT 'task:' || t.task_id AS id, t.kind, t.kind_version, t.polled, coalesce(t.polled, t.created_at) AS since, p.version
    FROM available t JOIN polled p ON p.kind = t.kind AND t.kind_version < p.version
),
more AS (SELECT count(*) = 4000 AS more FROM available)
