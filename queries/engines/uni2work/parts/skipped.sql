-- Oldest rows that wait too long, and whether workers took others meanwhile (`others`) instead of older ones first.
-- While workers take jobs, a long queue is no fault: then few of the later jobs have been taken.
WITH
\ir flow.sql
, late AS MATERIALIZED (
  SELECT h.id, h.creation_time, f.waiting, f.n,
         CASE WHEN f.in_order THEN h.passed > 0 AND h.passed >= h.later * :passed_share
              ELSE coalesce(greatest(f.newest, f.executed, f.moved) > h.creation_time, false) OR h.passed > 0 END AS others,
         coalesce(greatest(f.newest, f.executed) > h.creation_time, false) OR h.passed > 0 AS proven, f.in_order
    FROM placed h CROSS JOIN flow f
   WHERE h.waits
     AND NOT (f.waiting >= :untaken_rows::int AND f.waiting * 2 > f.n AND NOT f.alive)
     AND (:ids IS NULL OR 'job:' || h.id = ANY (:ids))
), skipped AS MATERIALIZED (
  SELECT l.* FROM late l WHERE l.others ORDER BY l.creation_time, l.id LIMIT :limit
)
