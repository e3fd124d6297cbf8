-- Nobody polls: tasks are Available, yet the newest poll is old. With a large table only polls of tasks that are
-- Available again can be seen, so a database whose every task ends at its first poll is judged by those. Tasks that
-- were all created within the threshold say nothing: a runner that had nothing to do is not silent.
-- A poll that lies further ahead than clocks differ was not made by the runner: it would hide every real one until then.
-- $1 ids text[]: only for these local ids, or NULL
-- $2 limits jsonb
-- $3 have text[]
-- Index: task__available_polled_at__idx, both ends.
WITH newest AS (
  SELECT greatest(
           (SELECT max((t.polled_at).time) FROM :"schema".task t WHERE 'task_scan' = ANY ($3::text[])
               AND (t.polled_at).time < now() + make_interval(secs => ($2::jsonb ->> 'clock_ahead')::float8)),
           (SELECT (t.polled_at).time
              FROM (SELECT polled_at FROM :"schema".task WHERE status = 'Available' AND polled_at IS DISTINCT FROM NULL
                     ORDER BY polled_at DESC LIMIT 5000) AS t
             WHERE (t.polled_at).time < now() + make_interval(secs => ($2::jsonb ->> 'clock_ahead')::float8)
             LIMIT 1)) AS poll,
         (SELECT count(*) FROM (SELECT FROM :"schema".task WHERE status = 'Available' ORDER BY polled_at LIMIT 10001) a) AS waiting,
         (SELECT (t.polled_at).time
            FROM (SELECT polled_at FROM :"schema".task WHERE status = 'Available' AND polled_at IS DISTINCT FROM NULL
                   ORDER BY polled_at DESC LIMIT 100) AS t
           WHERE isfinite((t.polled_at).time)
             AND (t.polled_at).time >= now() + make_interval(secs => ($2::jsonb ->> 'clock_ahead')::float8)
           LIMIT 1) AS ahead
)
SELECT 'runner:runner' AS id, extract(epoch FROM n.poll)::float8 AS since,
       jsonb_build_object('newest_poll', coalesce(date_trunc('second', n.poll)::text, 'the beginning'),
                          'waiting', CASE WHEN n.waiting > 10000 THEN '10k+' ELSE n.waiting::text END,
                          'ahead', coalesce('. Or its clock is ahead: a poll is dated ' || date_trunc('second', n.ahead), '')) AS evidence
  FROM newest n
 WHERE n.waiting > 0
   AND ($1::text[] IS NULL OR 'runner:runner' = ANY ($1::text[]))
   AND coalesce(n.poll, '-infinity') < now() - make_interval(secs => ($2::jsonb ->> 'runner_silent')::float8)
   AND EXISTS (SELECT FROM (SELECT created_at, polled_at FROM :"schema".task WHERE status = 'Available' ORDER BY polled_at LIMIT 5000) w
                WHERE w.polled_at IS DISTINCT FROM NULL
                   OR w.created_at < now() - make_interval(secs => ($2::jsonb ->> 'runner_silent')::float8))
