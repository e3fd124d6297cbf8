-- Available tasks of an older kind_version that are not polled, although a newer version of the kind is.
-- Index: task__available_polled_at__idx, 2,000 rows from each end.
WITH available AS MATERIALIZED (
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
)
(SELECT 'task:' || t.task_id AS id, extract(epoch FROM coalesce(t.polled, t.created_at))::float8 AS since,
        jsonb_build_object('kind', t.kind, 'kind_version', t.kind_version, 'newest_version', p.version,
                           'polled_at', coalesce(date_trunc('second', t.polled)::text, 'its creation')) AS evidence
   FROM available t JOIN polled p ON p.kind = t.kind AND t.kind_version < p.version
  WHERE coalesce(t.polled, t.created_at)
        < now() - :version_behind_of_kind
    AND (:ids IS NULL OR t.task_id = ANY (:task_keys))
  ORDER BY coalesce(t.polled, t.created_at), t.task_id
  LIMIT :limit)
UNION ALL
SELECT NULL, NULL, NULL WHERE :ids IS NULL AND (SELECT count(*) FROM available) = 4000
