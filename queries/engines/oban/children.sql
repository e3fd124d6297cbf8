-- Unfinished jobs of a queue: by state, and within a state in the order in which they are taken.
-- kinds: queue
-- parent: local id of the queue
-- cursor: state|priority|scheduled_at|id of the last row of the previous page, or NULL
-- Index: the one on oban_jobs(state, queue, priority, scheduled_at, id).
SELECT 'job:' || j.id AS id, concat_ws('|', j.state, j.priority, j.scheduled_at, j.id) AS cursor
  FROM (SELECT nullif(split_part(:cursor, '|', 1), '') AS state, nullif(split_part(:cursor, '|', 2), '')::int AS priority,
               nullif(split_part(:cursor, '|', 3), '')::timestamp AS at, nullif(split_part(:cursor, '|', 4), '')::int8 AS id) AS c
 CROSS JOIN unnest(enum_range(NULL:::"schema".oban_job_state)) AS s(state)
 CROSS JOIN LATERAL (
       SELECT j.id, j.state, j.priority, j.scheduled_at FROM :"schema".oban_jobs j
        WHERE j.state = s.state AND j.queue = substr(:parent, 7)
          AND (c.state IS DISTINCT FROM s.state::text OR (j.priority, j.scheduled_at, j.id) > (c.priority, c.at, c.id))
        ORDER BY j.priority, j.scheduled_at, j.id LIMIT :limit) AS j
 WHERE s.state::text NOT IN ('completed', 'discarded', 'cancelled')
   AND (c.state IS NULL OR s.state >= c.state:::"schema".oban_job_state)
 ORDER BY j.state, j.priority, j.scheduled_at, j.id
 LIMIT :limit
