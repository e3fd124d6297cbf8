-- Tasks without an existing parent, newest first: ids start with the creation time. Many rows have a random parent_id,
-- so a parent_id of no task counts as no parent. A task that is its own parent is a root, too. The last page says how
-- many tasks no root reaches: among 10,000 tasks, or that more are not searched.
-- Index: tasks_pkey backwards, one page of rows at a time until enough roots are found, and once for all parents of a
-- page. No ORDER BY at the end, because it would read all pages first.
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
(SELECT 'task:' || t.task_id AS id, t.task_id::text AS cursor
  FROM pages p
 CROSS JOIN LATERAL (SELECT ARRAY(SELECT q.task_id::macaddr8 FROM :"schema".tasks q WHERE q.task_id = ANY (p.parents)) AS found OFFSET 0) AS f
 CROSS JOIN LATERAL unnest(p.ids, p.parents) AS t(task_id, parent_id)
 WHERE (t.parent_id = ANY (f.found) AND t.parent_id <> t.task_id AND t.parent_id <> '00:00:00:00:00:00:00:00'::macaddr8) IS NOT TRUE
 LIMIT :limit)
UNION ALL
SELECT NULL, CASE WHEN a.few THEN format('tasks that a root reaches, not %s in or below a ring of parents (%s),', a.n, a.ids)
                  ELSE 'tasks that a root reaches, without a search for rings of parents in a large table,' END
  FROM (WITH RECURSIVE searched AS MATERIALIZED (
          SELECT t.task_id::macaddr8 AS id, nullif(nullif(t.parent_id::macaddr8, t.task_id::macaddr8), '00:00:00:00:00:00:00:00') AS parent
            FROM :"schema".tasks t LIMIT 10001
        ),
        few AS MATERIALIZED (SELECT count(*) <= 10000 AS few FROM searched),
        reached AS ( -- a longer line of parents is taken for a ring
          SELECT s.id, 0 AS level FROM searched s, few f
           WHERE f.few AND (s.parent IS NULL OR NOT EXISTS (SELECT FROM searched p WHERE p.id = s.parent))
          UNION ALL
          SELECT s.id, r.level + 1 FROM reached r JOIN searched s ON s.parent = r.id WHERE r.level < 1000
        )
        SELECT f.few, count(s.id) AS n, array_to_string((array_agg(s.id ORDER BY s.id))[:3], ', ') AS ids
          FROM few f LEFT JOIN searched s ON f.few AND NOT EXISTS (SELECT FROM reached r WHERE r.id = s.id) GROUP BY f.few) AS a
 WHERE a.n > 0 OR NOT a.few
 LIMIT :limit
