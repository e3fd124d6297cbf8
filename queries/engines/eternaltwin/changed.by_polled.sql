-- Changes since a time: polls of tasks, and new jobs. A row without an id says what was not searched.
-- needs: task_by_polled
-- cursor: JSON object with the last place of each part on the previous page, or NULL
-- Indexes: one on task(polled_at) backwards, at most 5,000 tasks; one on job(created_at) if it exists.
WITH \ir parts/ticks.sql
, polled AS MATERIALIZED (
  SELECT t.task_id, t.polled_at, t.status
    FROM :"schema".task t
   WHERE t.polled_at >= (SELECT c.low FROM ticks c) AND t.polled_at <= (SELECT c.high FROM ticks c)
   ORDER BY t.polled_at DESC LIMIT 5000
),
\ir parts/changes.sql
SELECT * FROM changes
