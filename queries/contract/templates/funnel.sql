-- By queue: how many unfinished nodes of the kind :kind there are, and how many meet the first conditions of a worker.
-- Of each sort of unfinished nodes, 10,000 are looked at.
-- kinds: :kind
-- :header
WITH
-- :parts
f AS MATERIALIZED (
-- :each
(SELECT (:queue)::text AS queue,
        :columns
        :since AS since
   FROM (SELECT t.* FROM :"schema".:table AS t
          WHERE :unfinished
          :sorted
          LIMIT 10001) AS t
   :beside
)
-- :end
)
SELECT f.queue, count(*) AS n, jsonb_build_array(:passed) AS passed, min(f.since) FILTER (WHERE :possible) AS since,
       (SELECT count(*) FROM f) > 10000 AS more
  FROM f
 GROUP BY f.queue
 ORDER BY count(*) DESC, f.queue
 LIMIT :limit
