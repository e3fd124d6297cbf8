-- Old locks, and the last activity of the instance of each.
\ir locked.sql
, \ir old_locks.sql
, nodes AS (SELECT * FROM old_locks),
more AS (
  SELECT CASE WHEN 'queue_by_lock_time' = ANY (:met_needs) THEN (SELECT count(*) FROM locked) >= :head::int
              ELSE EXISTS (SELECT FROM :"schema".queued_job ORDER BY id OFFSET :window::int) END AS more
)
