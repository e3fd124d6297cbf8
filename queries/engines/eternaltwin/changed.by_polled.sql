-- Changes since a time: polls of tasks, and new jobs. A row without an id says what was not searched.
-- needs: task_by_polled
-- $1 since float8: seconds since 1970
-- $2 cursor text: JSON object with the last place of each part on the previous page, or NULL
-- $3 page int
-- $4 settings jsonb: clock_ahead
-- $5 met_needs text[]
-- Indexes: one on task(polled_at) backwards, at most 5,000 tasks; one on job(created_at) if it exists.
WITH
\ir parts/ticks.sql
,
polled AS MATERIALIZED (
  SELECT t.task_id, t.polled_at, t.status
    FROM :"schema".task t
   WHERE t.polled_at >= (SELECT c.low FROM c) AND t.polled_at <= (SELECT c.high FROM c)
   ORDER BY t.polled_at DESC LIMIT 5000
)
\ir parts/changes.sql
