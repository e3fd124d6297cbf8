-- Number of jobs in each status, with the precision of each number. A small table (jobs_scan) is counted as a whole.
-- Indexes: a partial one on jobs(status, created_at) of unfinished jobs, at most 10,000 jobs of each status. Without
-- it, the one on jobs(user_id, status, created_at), for the first 16 users; with more users the numbers come from the
-- server's statistics, and the counted number is the minimum. Finished jobs are counted from the statistics.
WITH RECURSIVE known AS (
  SELECT 'jobs_scan' = ANY (:met_needs) AS whole,
         NOT 'jobs_scan' = ANY (:met_needs) AND 'unfinished' = ANY (:met_needs) AS by_status,
         NOT 'jobs_scan' = ANY (:met_needs) AND NOT 'unfinished' = ANY (:met_needs) AND 'by_user' = ANY (:met_needs) AS by_user
),
leaps AS (
  -- Loose index scan over the users, each with the number of active jobs among the first 20 rows. Active jobs sort first.
  (SELECT f.user_id, f.active
     FROM (SELECT p.first AS user_id, count(*) FILTER (WHERE p.user_id = p.first AND p.status = 'active') AS active
             FROM (SELECT r.*, first_value(r.user_id) OVER () AS first
                     FROM (SELECT j.user_id, j.status FROM :"schema".jobs j WHERE (SELECT by_user FROM known) ORDER BY j.user_id, j.status LIMIT 20) AS r) AS p
            GROUP BY p.first) AS f)
  UNION ALL
  SELECT n.*
    FROM leaps l
   CROSS JOIN LATERAL (
         SELECT p.first, count(*) FILTER (WHERE p.user_id = p.first AND p.status = 'active')
           FROM (SELECT r.*, first_value(r.user_id) OVER () AS first
                   FROM (SELECT j.user_id, j.status FROM :"schema".jobs j WHERE j.user_id > l.user_id ORDER BY j.user_id, j.status LIMIT 20) AS r) AS p
          GROUP BY p.first) AS n
),
users AS MATERIALIZED (SELECT l.user_id, l.active FROM leaps l LIMIT 17),
unfinished AS MATERIALIZED (
  SELECT j.status
    FROM (SELECT * FROM users u LIMIT 16) AS u
   CROSS JOIN LATERAL (SELECT 'active' AS status FROM generate_series(1, u.active) WHERE u.active < 20
                       UNION ALL
                       (SELECT j.status::text FROM :"schema".jobs j
                         WHERE u.active = 20 AND j.user_id = u.user_id AND j.status = 'active' LIMIT 20001)
                       UNION ALL
                       (SELECT j.status::text FROM :"schema".jobs j
                         WHERE j.user_id = u.user_id AND j.status IN ('pending', 'delayed', 'paused') LIMIT 20001)) AS j
   LIMIT 20001
),
counted AS MATERIALIZED (
  SELECT j.status::text AS status, count(*) AS n, true AS all FROM :"schema".jobs j WHERE (SELECT whole FROM known) GROUP BY j.status
  UNION ALL
  SELECT s.status, s.n, s.n <= 10000
    FROM (VALUES ('pending', (SELECT count(*) FROM (SELECT FROM :"schema".jobs j WHERE j.status = 'pending' LIMIT 10001) AS o)),
                 ('active', (SELECT count(*) FROM (SELECT FROM :"schema".jobs j WHERE j.status = 'active' LIMIT 10001) AS o)),
                 ('delayed', (SELECT count(*) FROM (SELECT FROM :"schema".jobs j WHERE j.status = 'delayed' LIMIT 10001) AS o)),
                 ('paused', (SELECT count(*) FROM (SELECT FROM :"schema".jobs j WHERE j.status = 'paused' LIMIT 10001) AS o))) AS s(status, n)
   WHERE (SELECT by_status FROM known)
  UNION ALL
  SELECT s.status, count(o.status), count(o.status) <= 10000 AND (SELECT count(*) FROM users) <= 16 AND (SELECT count(*) FROM unfinished) <= 20000
    FROM (VALUES ('pending'), ('active'), ('delayed'), ('paused')) AS s(status)
    LEFT JOIN unfinished o ON o.status = s.status
   WHERE (SELECT by_user FROM known)
   GROUP BY s.status
),
estimate AS (
  SELECT f.status, (c.reltuples * f.freq)::int8 AS n
    FROM pg_class c
    JOIN pg_stats s ON s.schemaname = :'schema' AND s.tablename = 'jobs' AND s.attname = 'status'
   CROSS JOIN unnest(s.most_common_vals::text::text[], s.most_common_freqs) AS f(status, freq)
   WHERE c.oid = format('%I.jobs', :'schema')::regclass AND c.reltuples >= 0
)
SELECT p.status,
       CASE WHEN c.all OR k.whole THEN coalesce(c.n, 0) WHEN e.n > coalesce(c.n, -1) THEN e.n ELSE least(c.n, 10000) END::int8 AS n,
       CASE WHEN c.all OR k.whole THEN 'exact' WHEN e.n > coalesce(c.n, -1) THEN 'estimated' WHEN c.n IS NOT NULL THEN 'capped'
            ELSE 'unknown' END AS precision
  FROM known k
 CROSS JOIN unnest(ARRAY['pending', 'active', 'delayed', 'paused', 'failed', 'completed']) AS p(status)
  LEFT JOIN counted c ON c.status = p.status
  LEFT JOIN estimate e ON e.status = p.status
