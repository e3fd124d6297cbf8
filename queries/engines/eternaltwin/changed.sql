-- Changes since a time: polls of Available tasks, and new jobs. A row without an id says what was not searched.
-- cursor: JSON object with the last place of each part on the previous page, or NULL
-- Indexes: task__available_polled_at__idx backwards, at most 5,000 tasks; one on job(created_at) if it exists. A runner
-- polls many tasks in one tick, so equal times are many. Polls dated too far ahead of the clock do not count.
-- title: recorded: the last poll of a task, and the creation of a job; not recorded: the status before, and changes other than a poll
WITH \ir parts/ticks.sql
, polled AS MATERIALIZED (
  SELECT t.task_id, t.polled_at, t.status
    FROM :"schema".task t
   WHERE t.status = 'Available' AND t.polled_at >= (SELECT c.low FROM ticks c) AND t.polled_at <= (SELECT c.high FROM ticks c)
   ORDER BY t.polled_at DESC LIMIT 5000
),
\ir parts/changes.sql
SELECT * FROM changes
UNION ALL
SELECT NULL, NULL, 'only the polls of Available tasks are searched', NULL, NULL, NULL, NULL, NULL
