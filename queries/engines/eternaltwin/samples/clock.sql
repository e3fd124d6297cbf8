-- One sample of the newest poll, if it is older than clocks differ. If it changes nevertheless, the runner works, and its clock
-- is behind. Polls dated further in the future than clocks differ are ignored.
-- $1 met_needs text[]
-- $2 settings jsonb
-- Index: task__available_polled_at__idx backwards; a small table is scanned.
SELECT 'runner:runner' AS id,
       jsonb_build_object('newest_poll', n.poll::text, 'behind', date_trunc('second', now() - n.poll)::text) AS seen
  FROM (SELECT greatest(
           (SELECT max((t.polled_at).time) FROM :"schema".task t WHERE 'task_scan' = ANY ($1::text[])
               AND (t.polled_at).time < now() + make_interval(secs => ($2::jsonb ->> 'clock_ahead')::float8)),
           (SELECT (t.polled_at).time
              FROM (SELECT polled_at FROM :"schema".task WHERE status = 'Available' AND polled_at IS DISTINCT FROM NULL
                     ORDER BY polled_at DESC LIMIT 5000) AS t
             WHERE (t.polled_at).time < now() + make_interval(secs => ($2::jsonb ->> 'clock_ahead')::float8)
             LIMIT 1)) AS poll OFFSET 0) AS n -- else each use of poll would read the polls again
 WHERE isfinite(n.poll) AND n.poll < now() - make_interval(secs => ($2::jsonb ->> 'clock_ahead')::float8)
