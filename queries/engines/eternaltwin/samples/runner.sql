-- One look at the runner: its newest poll, and how many polls the tasks at both ends of the index have behind them.
-- A poll that lies further ahead than clocks differ was not made by the runner, and would hide every real one until
-- then. It may still have the clock that is wrong: so the polls are counted too.
-- $1 have text[]
-- $2 limits jsonb
-- Index: task__available_polled_at__idx, both ends, 100 rows of each.
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
