-- Schedules, 1,000 at most, or those that are asked for. When the next run is due, a worker runs each within a second, and
-- takes one of a silent worker after 30 seconds.
-- Index: none: there is a row for each schedule of the code.
known AS MATERIALIZED (
  SELECT s.id, s.expression, s.entrypoint, s.next_run, s.heartbeat, s.status FROM :"schema".:"pgqueuer_schedules" s
   WHERE :ids IS NULL OR 'schedule:' || s.id = ANY (:ids) ORDER BY s.id LIMIT 1000
),
nodes AS (SELECT 'schedule:' || s.id AS id, s.expression, s.entrypoint, s.next_run, s.heartbeat, s.status FROM known s),
more AS (SELECT (SELECT count(*) FROM known) = 1000 AS more)
