-- One sample of the runner: its newest poll, and the number of polls of the tasks at both ends of the index. Polls dated
-- further in the future than clocks differ are ignored: such a poll would hide every real one until its time. The
-- runner's own clock may be wrong, so the number of polls is sampled too.
-- $1 met_needs text[]
-- $2 settings jsonb
-- Index: task__available_polled_at__idx, 100 rows from each end.
SELECT 'runner:runner' AS id,
       jsonb_build_object('newest_poll', greatest(
           (SELECT max((t.polled_at).time) FROM :"schema".task t WHERE 'task_scan' = ANY ($1::text[])
               AND (t.polled_at).time < now() + make_interval(secs => ($2::jsonb ->> 'clock_ahead')::float8)),
           (SELECT (t.polled_at).time
              FROM (SELECT polled_at FROM :"schema".task WHERE status = 'Available' AND polled_at IS DISTINCT FROM NULL
                     ORDER BY polled_at DESC LIMIT 5000) AS t
             WHERE (t.polled_at).time < now() + make_interval(secs => ($2::jsonb ->> 'clock_ahead')::float8)
             LIMIT 1))::text,
         'polls', (SELECT sum(e.revision)::text
                     FROM ((SELECT revision FROM :"schema".task WHERE status = 'Available' ORDER BY polled_at LIMIT 100)
                           UNION ALL
                           (SELECT revision FROM :"schema".task WHERE status = 'Available' AND polled_at IS DISTINCT FROM NULL
                             ORDER BY polled_at DESC LIMIT 100)) AS e)) AS seen
 WHERE (SELECT true FROM :"schema".task WHERE status = 'Available' ORDER BY polled_at LIMIT 1)
