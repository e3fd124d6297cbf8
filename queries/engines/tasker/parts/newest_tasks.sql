-- The newest 5,000 unfinished tasks of the highest 20 priorities, and a row in `older_tasks` where there may be others.
-- The index leads with the priority: so the newest of each are merged. First an equal share of each, 5,000 in all; where
-- each has as many, none older than the oldest of these can be among the newest 5,000. A share of many priorities would
-- be small, and going on costs a way through the index for each: so these are read at once.
-- Begins after the including file's WITH RECURSIVE. Index: idx_tasks_active_with_priority_covering backwards, index-only.
-- `complete`, its first column, is asked for twice: a constant is what the index is for, and is dropped as such; before
-- PostgreSQL 18 the second column alone would then be looked for from the end of the index on.
priorities AS (
  (SELECT t.priority FROM :"schema".tasks t WHERE t.complete = false ORDER BY t.priority DESC LIMIT 1)
  UNION ALL
  SELECT (SELECT t.priority FROM :"schema".tasks t WHERE t.complete = false AND t.complete = (SELECT false) AND t.priority < p.priority
           ORDER BY t.priority DESC LIMIT 1)
    FROM priorities p WHERE p.priority IS NOT NULL
),
shares AS MATERIALIZED (
  SELECT p.priority, p.share, ARRAY(SELECT t.task_uuid FROM :"schema".tasks t
                                     WHERE t.complete = false AND t.complete = (SELECT false) AND t.priority = p.priority
                                     ORDER BY t.task_uuid DESC LIMIT p.share) AS keys
    FROM (SELECT p.priority, CASE WHEN count(*) OVER () > 5 THEN 5000 ELSE 1 + 4999 / count(*) OVER () END AS share
            FROM (SELECT p.priority FROM priorities p WHERE p.priority IS NOT NULL LIMIT 20) AS p) AS p
),
ends AS MATERIALIZED (
  SELECT s.priority, s.share, s.keys[s.share] AS oldest, bool_and(s.keys[s.share] IS NOT NULL) OVER () AS all_whole FROM shares s
),
newest_tasks AS MATERIALIZED (
  SELECT u.task_uuid
    FROM (SELECT unnest(s.keys) AS task_uuid FROM shares s
          UNION ALL
          SELECT t.task_uuid
            FROM ends e
           CROSS JOIN LATERAL (SELECT t.task_uuid FROM :"schema".tasks t
                                WHERE t.complete = false AND t.complete = (SELECT false) AND t.priority = e.priority AND t.task_uuid < e.oldest
                                  AND t.task_uuid > coalesce((SELECT a.oldest FROM ends a WHERE a.all_whole ORDER BY a.oldest LIMIT 1),
                                                             '00000000-0000-0000-0000-000000000000')
                                ORDER BY t.task_uuid DESC LIMIT 5000 - e.share) AS t) AS u
   ORDER BY u.task_uuid DESC LIMIT 5000
),
older_tasks AS (
  SELECT FROM (SELECT) AS always
   WHERE (SELECT count(*) FROM newest_tasks) = 5000
      OR (SELECT count(p.priority) FROM (SELECT p.priority FROM priorities p LIMIT 21) AS p) = 21
)
