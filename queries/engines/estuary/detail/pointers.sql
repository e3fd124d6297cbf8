-- title: References to the task
-- kinds: task
-- Indexes: those of the tables that reference tasks. ts_stat runs a query that is given as text.
WITH \ir ../parts/pointing.sql
SELECT p.oid::regclass::text AS "table", p.attname::text AS "column",
       CASE WHEN p.closed IS NOT NULL THEN 'not known: ' || p.closed ELSE coalesce('foreign key ' || p.conname, 'no foreign key') END AS "by"
  FROM pointing p
  JOIN :"schema".tasks t ON t.task_id = substr(:id, 6)::macaddr8 AND (p.types IS NULL OR t.task_type::text = ANY (p.types))
 WHERE p.closed IS NOT NULL
    OR EXISTS (SELECT FROM ts_stat(format('SELECT array_to_tsvector(ARRAY[''hit'']) FROM %s WHERE %I = %L LIMIT 1', p.oid::regclass, p.attname, substr(:id, 6))))
 ORDER BY 1, 2
