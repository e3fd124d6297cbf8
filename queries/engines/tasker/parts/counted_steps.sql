-- The steps of `known_steps` by state, a row for each task with steps.
counted_steps AS MATERIALIZED (
  SELECT k.task_uuid, count(*) AS total, count(*) FILTER (WHERE k.done) AS done,
         count(*) FILTER (WHERE k.state = 'error') AS failed,
         count(*) FILTER (WHERE k.state = 'in_progress' OR k.state LIKE 'enqueued%') AS in_flight
    FROM known_steps k GROUP BY k.task_uuid
)
