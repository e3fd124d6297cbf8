-- Unfinished jobs: executing, available, retryable, scheduled, then suspended ones; within a state by queue, in the order in which
-- they are taken.
-- cursor: state|priority|scheduled_at|id|queue of the last row of the previous page, or NULL
-- Index: the one on oban_jobs(state, queue, priority, scheduled_at, id).
SELECT 'job:' || j.id AS id, concat_ws('|', j.state, j.priority, j.scheduled_at, j.id, j.queue) AS cursor
  FROM (SELECT p.state, nullif(split_part(:cursor, '|', 2), '')::int AS priority, nullif(split_part(:cursor, '|', 3), '')::timestamp AS at,
               nullif(split_part(:cursor, '|', 4), '')::int8 AS id, regexp_replace(:cursor, '^([^|]*\|){4}', '') AS queue,
               coalesce(array_position(ARRAY['executing', 'available', 'retryable', 'scheduled', 'suspended'], p.state), 0) AS rank
          FROM (SELECT nullif(split_part(:cursor, '|', 1), '') AS state) AS p) AS c
 CROSS JOIN (SELECT s.state, array_position(ARRAY['executing', 'available', 'retryable', 'scheduled', 'suspended'], s.state::text) AS rank
               FROM unnest(enum_range(NULL:::"schema".oban_job_state)) AS s(state)) AS s
 CROSS JOIN LATERAL (
       SELECT j.id, j.state, j.queue, j.priority, j.scheduled_at FROM :"schema".oban_jobs j
        WHERE j.state = s.state
          AND (s.rank > c.rank OR (j.queue, j.priority, j.scheduled_at, j.id) > (c.queue, c.priority, c.at, c.id))
        ORDER BY j.queue, j.priority, j.scheduled_at, j.id LIMIT :limit) AS j
 WHERE s.rank >= c.rank
 ORDER BY s.rank, j.queue, j.priority, j.scheduled_at, j.id
 LIMIT :limit
