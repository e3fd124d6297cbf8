-- Tasks without an existing parent, newest first: ids start with the creation time. Many rows have a random parent_id, so
-- a parent_id of no task counts as no parent. A task that is its own parent is a root, too.
-- Index: tasks_pkey backwards, one page of rows at a time until enough roots are found, and once for all parents of a page.
-- No ORDER BY at the end, because it would read all pages first.
WITH RECURSIVE pages AS (
  SELECT n.*
    FROM (SELECT array_agg(x.task_id::macaddr8) AS ids, array_agg(x.parent_id::macaddr8) AS parents, count(*) AS rows
            FROM (SELECT t.task_id, t.parent_id FROM :"schema".tasks t
                   WHERE :cursor IS NULL OR t.task_id < :cursor::text::macaddr8 ORDER BY t.task_id DESC LIMIT :limit) AS x) AS n
  UNION ALL
  SELECT n.*
    FROM pages p
   CROSS JOIN LATERAL (
         SELECT array_agg(x.task_id::macaddr8) AS ids, array_agg(x.parent_id::macaddr8) AS parents, count(*) AS rows
           FROM (SELECT t.task_id, t.parent_id FROM :"schema".tasks t
                  WHERE t.task_id < p.ids[p.rows] ORDER BY t.task_id DESC LIMIT :limit) AS x) AS n
   WHERE p.rows = :limit
)
SELECT 'task:' || t.task_id AS id, t.task_id::text AS cursor
  FROM pages p
 CROSS JOIN LATERAL (SELECT ARRAY(SELECT q.task_id::macaddr8 FROM :"schema".tasks q WHERE q.task_id = ANY (p.parents)) AS found OFFSET 0) AS f
 CROSS JOIN LATERAL unnest(p.ids, p.parents) AS t(task_id, parent_id)
 WHERE (t.parent_id = ANY (f.found) AND t.parent_id <> t.task_id AND t.parent_id <> '00:00:00:00:00:00:00:00'::macaddr8) IS NOT TRUE
 LIMIT :limit
