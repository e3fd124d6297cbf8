-- The newest 5,000 unfinished tasks of the highest 20 priorities, each with `older`: there may be more. The index
-- starts with the priority, so merge the newest tasks of each priority. First read an equal share of each, 5,000 in
-- total. If all shares are full, no task older than the oldest share end can be among the newest 5,000. With many
-- priorities a share would be small and each continuation costs an index descent, so read 5,000 of each at once.
-- Index: idx_tasks_active_with_priority_covering backwards, index-only. The condition on `complete`, the index's first
-- column, is written twice: the planner drops the constant one because it matches the index predicate, and before
-- PostgreSQL 18 it would then scan from the end of the index for the second column.
newest_tasks AS MATERIALIZED (
  WITH RECURSIVE priorities AS (
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
  chosen AS MATERIALIZED (
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
  )
  SELECT n.task_uuid, (SELECT count(*) FROM chosen) = 5000 OR (SELECT count(p.priority) FROM (SELECT p.priority FROM priorities p LIMIT 21) AS p) = 21 AS older
    FROM chosen n
)
