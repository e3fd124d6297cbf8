-- The ticks between which polls are searched, and the last task of the previous page. $1 since, $2 cursor, $4 settings.
c AS MATERIALIZED (
  SELECT row(to_timestamp($1::float8), 0):::"schema".job_tick AS low,
         row(coalesce(nullif(split_part(g.poll, '|', 1), '')::timestamptz, now() + make_interval(secs => ($4::jsonb ->> 'clock_ahead')::float8)),
             coalesce(nullif(split_part(g.poll, '|', 2), '')::int, 65535)):::"schema".job_tick AS high,
         nullif(split_part(g.poll, '|', 3), '')::uuid AS task,
         coalesce(nullif(split_part(g.job, '|', 1), '')::timestamptz, now()) AS created,
         coalesce(nullif(split_part(g.job, '|', 2), '')::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff') AS job
    FROM (SELECT $2::text::jsonb ->> 'poll' AS poll, $2::text::jsonb ->> 'job' AS job) AS g
)
