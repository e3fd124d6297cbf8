-- Jobs of the holder in :parent, or of the holder of the group in :parent, within the searched rows.
jobs AS (
  SELECT q.id, q.content
    FROM (SELECT * FROM :"schema".queued_job ORDER BY id
           LIMIT (:settings ->> CASE WHEN :parent ~ ':none($|[|])' THEN 'head' ELSE 'window' END)::float8::int) AS q
   WHERE CASE WHEN (q.lock_instance IS NULL) <> (q.lock_time IS NULL) THEN 'inconsistent' ELSE coalesce(q.lock_instance::text, 'none') END
         = split_part(substr(:parent, strpos(:parent, ':') + 1), '|', 1)
  UNION
  SELECT q.id, q.content
    FROM (SELECT * FROM :"schema".queued_job WHERE lock_time IS NOT NULL AND 'queue_by_lock_time' = ANY (:met_needs)
           ORDER BY lock_time LIMIT :head::int) AS q
   WHERE coalesce(q.lock_instance::text, 'inconsistent') = split_part(substr(:parent, strpos(:parent, ':') + 1), '|', 1)
)
