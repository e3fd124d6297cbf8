-- Of the intervals, which are 6 or more, 4 in 5 are near the median. The longest one seen is allowed, so events are compared only
-- where the last one is further away than the mean interval. `ended`: that is ten times as long ago as all of them took.
, gaps AS MATERIALIZED (
  SELECT e.*, extract(epoch FROM e.at - lag(e.at) OVER (PARTITION BY e.key ORDER BY e.at))::float8 AS gap
    FROM events e
   WHERE isfinite(e.at) AND e.key IN (SELECT l.key FROM events l WHERE isfinite(l.at) GROUP BY l.key
                    HAVING count(l.at) > 6 AND now() - max(l.at) > greatest((max(l.at) - min(l.at)) / count(l.at), :least))
),
periods AS MATERIALIZED (
  SELECT g.key, (array_agg(g.id ORDER BY g.at DESC))[1] AS id, count(g.gap) AS n, max(g.at) AS last, max(g.gap) AS longest,
         percentile_cont(0.5) WITHIN GROUP (ORDER BY g.gap) AS period
    FROM gaps g GROUP BY g.key
),
steady AS (
  SELECT p.key FROM periods p JOIN gaps g ON g.key = p.key GROUP BY p.key
  HAVING count(*) FILTER (WHERE abs(g.gap - p.period) <= 0.2 * p.period) >= 0.8 * count(g.gap)
),
nodes AS (
  SELECT p.key, p.id, p.last, p.n + 1 AS seen, date_trunc('second', make_interval(secs => round(p.period)))::text AS period,
         now() - p.last > make_interval(secs => 10 * p.n * p.period) AS ended
    FROM periods p
   WHERE p.key IN (SELECT s.key FROM steady s)
     AND now() - p.last > make_interval(secs => greatest(2 * p.period + 60, 1.2 * p.longest))
)
