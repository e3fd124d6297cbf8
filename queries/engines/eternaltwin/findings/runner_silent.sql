-- The runner, if tasks are Available but the newest poll is old. In a large table only the polls of Available tasks can
-- be read, so polls that completed their task are missing. If all Available tasks were created within the threshold,
-- the runner was idle and is not reported. Polls dated further in the future than clocks differ are ignored: such a poll
-- would hide every real one until its time. slow: the silence is shorter than two polls of the slowest task that was polled least
-- recently, which may be polled now.
-- $1 ids text[]: local ids to check, or NULL for all
-- $2 settings jsonb
-- $3 met_needs text[]
-- Index: task__available_polled_at__idx, from both ends.
WITH newest AS MATERIALIZED ( -- else each use of a column would read the polls again
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
           LIMIT 1) AS ahead,
         (SELECT max(extract(epoch FROM t.cpu_duration) / t.revision)::float8
            FROM (SELECT cpu_duration, revision FROM :"schema".task WHERE status = 'Available' ORDER BY polled_at LIMIT 100) AS t
           WHERE t.revision > 0) AS poll_cpu
)
SELECT 'runner:runner' AS id, extract(epoch FROM n.poll)::float8 AS since,
       jsonb_build_object('newest_poll', coalesce(date_trunc('second', n.poll)::text, 'the beginning'),
                          'waiting', CASE WHEN n.waiting > 10000 THEN '10k+' ELSE n.waiting::text END,
                          'slow', CASE WHEN n.poll_cpu > ($2::jsonb ->> 'runner_silent')::float8 / 2 AND now() - n.poll < make_interval(secs => 2 * n.poll_cpu) THEN 'poll' ELSE 'unknown' END,
                          'ahead', coalesce('. Or its clock is ahead: one poll is dated ' || date_trunc('second', n.ahead), '')) AS evidence
  FROM newest n
 WHERE n.waiting > 0
   AND ($1::text[] IS NULL OR 'runner:runner' = ANY ($1::text[]))
   AND coalesce(n.poll, '-infinity') < now() - make_interval(secs => ($2::jsonb ->> 'runner_silent')::float8)
   AND EXISTS (SELECT FROM (SELECT created_at, polled_at FROM :"schema".task WHERE status = 'Available' ORDER BY polled_at LIMIT 5000) w
                WHERE w.polled_at IS DISTINCT FROM NULL
                   OR w.created_at < now() - make_interval(secs => ($2::jsonb ->> 'runner_silent')::float8))
