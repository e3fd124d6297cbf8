-- Version of each requested holder: the digest of its locks (locked.sql).
holder_versions AS MATERIALIZED (
  SELECT 'holder:' || l.lock_instance AS id, md5(string_agg(l.id || '@' || l.lock_time, ' ' ORDER BY l.id)) AS version,
         least(500, count(*) FILTER (WHERE l.lock_time < now() - :stale)) AS old
    FROM locked l
   WHERE 'holder:' || l.lock_instance = ANY (:ids) AND l.lock_time IS NOT NULL
   GROUP BY l.lock_instance
)
