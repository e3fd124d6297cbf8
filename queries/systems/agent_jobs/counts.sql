-- How many jobs are in each phase, each count with its honesty.
-- $1 have text[]: needs that are satisfied here; where the table is small, everything is counted
-- Index: one on jobs(user_id, status, created_at), in which alone the unfinished are counted, user by user; the
-- finished come from the server's statistics.
WITH RECURSIVE known AS (
  SELECT 'jobs_scan' = ANY ($1::text[]) AS whole, 'by_user' = ANY ($1::text[]) AS indexed
), users AS (
  (SELECT j.user_id FROM jobs j WHERE (SELECT indexed AND NOT whole FROM known) ORDER BY j.user_id LIMIT 1)
  UNION ALL
  SELECT (SELECT j.user_id FROM jobs j WHERE j.user_id > u.user_id ORDER BY j.user_id LIMIT 1)
    FROM users u WHERE u.user_id IS NOT NULL
), counted AS (
  SELECT j.status::text AS status, count(*) AS n FROM jobs j WHERE (SELECT whole FROM known) GROUP BY j.status
  UNION ALL
  SELECT s.status, s.n
    FROM (SELECT sum(c.pending) AS pending, sum(c.active) AS active, sum(c.delayed) AS delayed, sum(c.paused) AS paused
            FROM users u
           CROSS JOIN LATERAL (SELECT (SELECT count(*) FROM jobs j WHERE j.user_id = u.user_id AND j.status = 'pending') AS pending,
                                      (SELECT count(*) FROM jobs j WHERE j.user_id = u.user_id AND j.status = 'active') AS active,
                                      (SELECT count(*) FROM jobs j WHERE j.user_id = u.user_id AND j.status = 'delayed') AS delayed,
                                      (SELECT count(*) FROM jobs j WHERE j.user_id = u.user_id AND j.status = 'paused') AS paused) AS c
           WHERE u.user_id IS NOT NULL) AS t
   CROSS JOIN LATERAL (VALUES ('pending', t.pending), ('active', t.active), ('delayed', t.delayed), ('paused', t.paused)) AS s(status, n)
   WHERE s.n IS NOT NULL
), estimate AS (
  SELECT f.status, (c.reltuples * f.freq)::int8 AS n
    FROM pg_class c
    JOIN pg_stats s ON s.schemaname = current_schema() AND s.tablename = 'jobs' AND s.attname = 'status'
   CROSS JOIN unnest(s.most_common_vals::text::text[], s.most_common_freqs) AS f(status, freq)
   WHERE c.oid = 'jobs'::regclass AND c.reltuples >= 0
)
SELECT p.phase,
       CASE WHEN k.whole THEN coalesce((SELECT c.n FROM counted c WHERE c.status = p.status), 0)
            WHEN p.open AND k.indexed THEN coalesce((SELECT c.n FROM counted c WHERE c.status = p.status), 0)
            ELSE (SELECT e.n FROM estimate e WHERE e.status = p.status) END::int8 AS n,
       CASE WHEN k.whole OR (p.open AND k.indexed) THEN 'exact'
            WHEN EXISTS (SELECT FROM estimate e WHERE e.status = p.status) THEN 'estimated' ELSE 'unknown' END AS honesty
  FROM known k
 CROSS JOIN (VALUES ('ready', 'pending', true), ('running', 'active', true), ('scheduled', 'delayed', true),
                    ('held', 'paused', true), ('failed', 'failed', false), ('done', 'completed', false)) AS p(phase, status, open)
