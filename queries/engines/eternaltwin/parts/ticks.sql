-- The ticks between which polls are searched, and the last task of the previous page.
ticks AS MATERIALIZED (
  SELECT row(to_timestamp(:since), 0):::"schema".job_tick AS low,
         row(coalesce(nullif(split_part(g.poll, '|', 1), '')::timestamptz, now() + :clock_ahead),
             coalesce(nullif(split_part(g.poll, '|', 2), '')::int, 65535)):::"schema".job_tick AS high,
         nullif(split_part(g.poll, '|', 3), '')::uuid AS task,
         coalesce(nullif(split_part(g.job, '|', 1), '')::timestamptz, now()) AS created,
         coalesce(nullif(split_part(g.job, '|', 2), '')::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff') AS job
    FROM (SELECT :cursor::text::jsonb ->> 'poll' AS poll, :cursor::text::jsonb ->> 'job' AS job) AS g
)
