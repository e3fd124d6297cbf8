-- Jobs whose content another one of the oldest rows has too: all of them but one, which is a locked job, or else the
-- oldest. Compare as jsonb, so the order of keys does not matter.
-- Index: the start of queued_job_pkey.
head AS MATERIALIZED (
  SELECT j.id, j.content, j.creation_time, j.lock_instance IS NOT NULL OR j.lock_time IS NOT NULL AS locked
    FROM :"schema".queued_job j ORDER BY j.id LIMIT :head::int
),
equal AS MATERIALIZED (
  SELECT w.content, count(*) AS n, array_agg(w.id ORDER BY w.id) AS ids, (array_agg(w.id ORDER BY w.locked DESC, w.id))[1] AS kept
    FROM head w
   GROUP BY w.content
  HAVING count(*) > 1
),
jobs AS (
  SELECT w.id AS job, w.creation_time, w.locked, q.*
    FROM equal q CROSS JOIN LATERAL unnest(q.ids) AS e(id) JOIN head w ON w.id = e.id AND w.id <> q.kept
),
\ir kinds.sql
, nodes AS (SELECT 'job:' || k.job AS id, k.* FROM kinds k),
more AS (SELECT EXISTS (SELECT FROM :"schema".queued_job ORDER BY id OFFSET :head::int) AS more)
