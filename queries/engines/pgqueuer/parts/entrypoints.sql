-- Entrypoints with queued jobs, 500 at most, from a loose index scan.
entrypoints AS MATERIALIZED (
  WITH RECURSIVE leaps AS (
    (SELECT j.entrypoint AS name FROM :"schema".:"pgqueuer" j WHERE j.status = 'queued' ORDER BY j.entrypoint LIMIT 1)
    UNION ALL
    SELECT (SELECT j.entrypoint FROM :"schema".:"pgqueuer" j WHERE j.status = 'queued' AND j.entrypoint > l.name ORDER BY j.entrypoint LIMIT 1)
      FROM leaps l WHERE l.name IS NOT NULL
  )
  SELECT l.name FROM leaps l WHERE l.name IS NOT NULL LIMIT 500
)
