-- Tasks by id or by the beginning of an id, with or without separators.
-- Index: tasks_pkey, as a range.
WITH q AS (
  SELECT CASE WHEN d.digits ~ '^[0-9a-f]{1,16}$' THEN rpad(d.digits, 16, '0')::macaddr8 END AS low,
         CASE WHEN d.digits ~ '^[0-9a-f]{1,16}$' THEN rpad(d.digits, 16, 'f')::macaddr8 END AS high
    FROM (SELECT translate(lower(trim(:query)), ':.-', '') AS digits) AS d
)
SELECT 'task:' || t.task_id AS id, CASE WHEN (SELECT low = high FROM q) THEN 'id' ELSE 'beginning' END AS matched
  FROM :"schema".tasks t
 WHERE t.task_id BETWEEN (SELECT low FROM q) AND (SELECT high FROM q)
 ORDER BY t.task_id
 LIMIT :limit
