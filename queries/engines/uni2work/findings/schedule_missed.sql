-- Find kinds of cron jobs that were executed at regular intervals and are not any more. A kind has an interval if its entries
-- do, for example one for each iteration. The longest interval seen is allowed. Report the newest entry.
-- Index: cron_last_exec_pkey backwards.
-- Read all entries if the table has at most cron_whole bytes, else the newest by id.
WITH entries AS MATERIALIZED (
  SELECT c.id, c."time" AS at, CASE WHEN jsonb_typeof(c.job -> 'job') = 'string' THEN c.job ->> 'job' END AS kind
    FROM (SELECT a.id, a.job, a."time" FROM :"schema".cron_last_exec a WHERE (SELECT pg_relation_size(format('%I.cron_last_exec', :'schema')::regclass) <= :cron_whole)
          UNION ALL
          (SELECT b.id, b.job, b."time" FROM :"schema".cron_last_exec b
            WHERE (SELECT pg_relation_size(format('%I.cron_last_exec', :'schema')::regclass) > :cron_whole)
            ORDER BY b.id DESC LIMIT :head::int)) AS c
   WHERE isfinite(c."time")
),
gaps AS MATERIALIZED (
  SELECT e.*, extract(epoch FROM e.at - lag(e.at) OVER (PARTITION BY e.kind ORDER BY e.at))::float8 AS gap FROM entries e WHERE e.kind IS NOT NULL
),
periods AS MATERIALIZED (
  SELECT g.kind, count(g.gap) AS n, max(g.at) AS last, (array_agg(g.id ORDER BY g.at DESC))[1] AS id, max(g.gap) AS longest,
         percentile_cont(0.5) WITHIN GROUP (ORDER BY g.gap) AS period
    FROM gaps g GROUP BY g.kind HAVING count(g.gap) >= 6
),
regular AS (
  SELECT p.kind FROM periods p JOIN gaps g ON g.kind = p.kind
   GROUP BY p.kind
  HAVING count(*) FILTER (WHERE abs(g.gap - p.period) <= 0.2 * p.period) >= 0.8 * count(g.gap)
)
SELECT 'cron:' || p.id AS id, extract(epoch FROM p.last)::float8 AS since,
       jsonb_build_object('kind', left(p.kind, 80), 'period', date_trunc('second', make_interval(secs => round(p.period)))::text, 'seen', p.n + 1,
         'last', date_trunc('second', p.last)::text, 'silent', date_trunc('second', now() - p.last)::text) AS evidence
  FROM periods p
 WHERE p.kind IN (SELECT r.kind FROM regular r)
   AND extract(epoch FROM now() - p.last) > greatest(2 * p.period + 60, 1.2 * p.longest, (:settings ->> 'quiet_least')::float8)
   AND (:ids IS NULL OR 'cron:' || p.id = ANY (:ids))
 ORDER BY p.last, p.id
 LIMIT :page
