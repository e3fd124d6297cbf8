-- The oldest row, and the median age of the oldest rows, in seconds.
-- Index: the start of queued_job_pkey.
head AS MATERIALIZED (
  SELECT q.id, q.creation_time FROM :"schema".queued_job q ORDER BY q.id LIMIT :head::int
), usual AS (
  SELECT count(*) AS n, extract(epoch FROM now())::float8 - percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM h.creation_time)::float8) AS age
    FROM head h WHERE isfinite(h.creation_time)
), nodes AS (
  SELECT 'job:' || h.id AS id, h.creation_time, extract(epoch FROM now())::float8 - extract(epoch FROM h.creation_time)::float8 AS age, u.n, greatest(u.age, 0) AS usual
    FROM (SELECT * FROM head ORDER BY id LIMIT 1) AS h CROSS JOIN usual u
)
