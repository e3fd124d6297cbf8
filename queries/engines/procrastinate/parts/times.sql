-- Times `e` of the job j.
  CROSS JOIN LATERAL (
\ir events.sql
  ) AS e
