-- Number of unfinished nodes in each phase. Of each status, up to 10,000 are counted.
-- :header
WITH part(phase, n, total) AS (
-- :each
  SELECT p.phase, count(*) FILTER (WHERE f.phase = p.phase), count(*)
    FROM unnest(ARRAY[:phases]) AS p(phase)
   CROSS JOIN (SELECT :phase AS phase FROM :"schema".:table AS t WHERE :filter ORDER BY :order LIMIT 10001) AS f
   GROUP BY p.phase
-- :end
)
SELECT u.phase, least(coalesce(sum(part.n), 0), 10000)::int8 AS n,
       CASE WHEN bool_or(part.total > 10000) THEN 'capped' ELSE 'exact' END AS precision
  FROM unnest(ARRAY[:unfinished]::text[]) AS u(phase) LEFT JOIN part ON part.phase = u.phase
 GROUP BY u.phase
UNION ALL
SELECT e.phase, NULL, 'unknown' FROM unnest(ARRAY[:ended]::text[]) AS e(phase)
