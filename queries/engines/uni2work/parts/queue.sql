-- The queue, and the jobs that wait while workers take jobs in order.
\ir flow.sql
, nodes AS (
  SELECT 'queue:all' AS id, f.*, o.first, o.others
    FROM flow f
   CROSS JOIN (SELECT min(h.creation_time) AS first, count(*) AS others FROM placed h
                WHERE h.waits AND NOT (h.passed > 0 AND h.passed >= h.later * :passed_share)) AS o
)
