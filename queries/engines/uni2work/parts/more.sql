-- Whether there may be locks beyond those of `locked` (locked.sql).
more AS (
  SELECT CASE WHEN 'queue_by_lock_time' = ANY (:met_needs) THEN (SELECT count(*) FROM locked) >= :head::int
              ELSE EXISTS (SELECT FROM :"schema".queued_job ORDER BY id OFFSET :window::int) END AS more
)
