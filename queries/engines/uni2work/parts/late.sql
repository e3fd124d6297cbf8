-- Rows of `placed` (placed.sql) that wait too long, and whether workers took others meanwhile (`others`) instead of
-- older ones first. While workers take jobs, a long queue is no fault: then few of the later jobs have been taken.
late AS MATERIALIZED (
  SELECT p.id, p.creation_time, p.waiting, p.n,
         CASE WHEN p.in_order THEN p.passed > 0 AND p.passed >= p.later * :passed_share
              ELSE coalesce(greatest(newest, executed, moved) > p.creation_time, false) OR p.passed > 0 END AS others,
         coalesce(greatest(p.newest, p.executed) > p.creation_time, false) OR p.passed > 0 AS proven, p.in_order
    FROM placed p
   WHERE p.waits
     AND NOT (p.waiting >= :untaken_rows::int AND p.waiting * 2 > p.n AND NOT p.alive)
     AND (:ids IS NULL OR 'job:' || p.id = ANY (:ids))
)
