-- The queue, and the jobs that wait while workers take jobs in order.
\ir placed.sql
, nodes AS (
  SELECT 'queue:all' AS id, p.n, p.waiting, p.oldest, p.newest, p.executed, p.moved, p.alive, p.in_order,
         min(p.creation_time) FILTER (WHERE o.other) AS first, count(*) FILTER (WHERE o.other) AS others
    FROM placed p CROSS JOIN LATERAL (SELECT p.waits AND NOT (p.passed > 0 AND p.passed >= p.later * :passed_share) AS other) AS o
   GROUP BY p.n, p.waiting, p.oldest, p.newest, p.executed, p.moved, p.alive, p.in_order
)
