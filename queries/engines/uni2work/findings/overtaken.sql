-- Find the oldest row if it is far older than the median of the oldest rows.
-- Index: the start of queued_job_pkey.
WITH head AS MATERIALIZED (
  SELECT q.id, q.creation_time FROM :"schema".queued_job q ORDER BY q.id LIMIT :head::int
), usual AS (
  SELECT count(*) AS n, extract(epoch FROM now())::float8 - percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM h.creation_time)::float8) AS age
    FROM head h WHERE isfinite(h.creation_time)
), oldest AS (
  SELECT h.id, h.creation_time, extract(epoch FROM now())::float8 - extract(epoch FROM h.creation_time)::float8 AS age
    FROM head h ORDER BY h.id LIMIT 1
)
SELECT 'job:' || o.id AS id, extract(epoch FROM o.creation_time)::float8 AS since,
       jsonb_build_object('age', CASE WHEN isfinite(o.creation_time) THEN date_trunc('second', now() - o.creation_time)::text ELSE 'ever' END,
                          'usual', date_trunc('second', make_interval(secs => greatest(u.age, 0)))::text, 'rows', u.n) AS evidence
  FROM oldest o CROSS JOIN usual u
 WHERE u.n >= 10
   AND o.age > (:settings ->> 'behind')::float8
   AND o.age > 10 * greatest(u.age, 0)
   AND (:ids IS NULL OR 'job:' || o.id = ANY (:ids))
