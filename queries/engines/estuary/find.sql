-- Tasks by id or id prefix, with or without separators; by name or number of their type among due tasks, or among all
-- tasks if the table is small.
-- $1 query text: hexadecimal digits with or without separators, or part of a type's name, or "type 2"
-- $2 page int: maximum number of rows
-- $3 met_needs text[]
-- $4 settings jsonb: names
-- Indexes: tasks_pkey, as a range; idx_tasks_ready_at, the first 5,000 rows.
WITH q AS (
  SELECT CASE WHEN d.digits ~ '^[0-9a-f]{1,16}$' THEN rpad(d.digits, 16, '0')::macaddr8 END AS low,
         CASE WHEN d.digits ~ '^[0-9a-f]{1,16}$' THEN rpad(d.digits, 16, 'f')::macaddr8 END AS high
    FROM (SELECT translate(lower(trim($1::text)), ':.-', '') AS digits) AS d
),
types AS MATERIALIZED (
  SELECT n.key AS task_type FROM jsonb_each_text($4::jsonb -> 'names') AS n
   WHERE strpos(lower(n.value), lower(trim($1::text))) > 0 AND trim($1::text) <> ''
  UNION
  SELECT substring(lower(trim($1::text)) FROM '^type (\d+)$')
),
of_type AS (
  SELECT d.task_id FROM (SELECT t.task_id, t.task_type FROM :"schema".tasks t WHERE t.wake_at <= now() ORDER BY t.wake_at LIMIT 5000) AS d
   WHERE d.task_type::text = ANY (ARRAY(SELECT task_type FROM types))
  UNION
  SELECT t.task_id FROM :"schema".tasks t
   WHERE 'task_scan' = ANY ($3::text[]) AND t.task_type::text = ANY (ARRAY(SELECT task_type FROM types))
)
(SELECT 'task:' || t.task_id AS id FROM :"schema".tasks t
  WHERE t.task_id BETWEEN (SELECT low FROM q) AND (SELECT high FROM q) ORDER BY t.task_id LIMIT $2::int)
UNION ALL
(SELECT 'task:' || o.task_id FROM of_type o ORDER BY o.task_id DESC LIMIT $2::int)
LIMIT $2::int
