-- The runner: its newest poll, and the kinds of the tasks that it polled last. With an Available task, a runner that lives polls.
-- Index: task__available_polled_at__idx, backward; 1,000 tasks are read.
SELECT 'the runner' AS worker, extract(epoch FROM max((o.polled_at).time))::float8 AS seen, max((o.polled_at).time) >= now() - :runner_silent AS alive,
       coalesce(jsonb_agg(DISTINCT o.kind) FILTER (WHERE (o.polled_at).time >= now() - :runner_silent), '[]') AS serves, false AS only
  FROM (SELECT t.kind, t.polled_at FROM :"schema".task t
         WHERE t.status = 'Available' AND t.polled_at < row(now() + :clock_ahead, 0):::"schema".job_tick ORDER BY t.polled_at DESC LIMIT 1000) AS o
