-- Jobs by their queue's job id, by id or by the beginning of an id; agents and users by id.
-- query: a number, or hexadecimal digits with or without hyphens
-- Indexes: jobs_job_id_key, compared as text because a cast would read the whole table; jobs_pkey, as a range. Ids that
-- do not exist are removed when the nodes are read. The upper bound of the range is a row constructor: with a plain
-- bound the planner expects few rows, and reads and sorts them all instead of reading the first ones in order.
WITH q AS (
  SELECT CASE WHEN :query ~* '^[0-9a-f-]{1,36}$' AND length(replace(:query, '-', '')) BETWEEN 1 AND 32
              THEN rpad(replace(:query, '-', ''), 32, '0')::uuid END AS low,
         CASE WHEN :query ~* '^[0-9a-f-]{1,36}$' AND length(replace(:query, '-', '')) BETWEEN 1 AND 32
              THEN rpad(replace(:query, '-', ''), 32, 'f')::uuid END AS high
),
page AS (
  (SELECT *, xmin, ctid, 1 AS place, 'reference' AS matched FROM :"schema".jobs WHERE job_id = :query LIMIT :limit)
  UNION ALL
  (SELECT j.*, xmin, ctid, 3, (SELECT CASE WHEN low = high THEN 'id' ELSE 'beginning' END FROM q) FROM :"schema".jobs j
    WHERE j.id >= (SELECT low FROM q) AND (j.id, true) <= ((SELECT high FROM q), true) ORDER BY j.id LIMIT :limit)
),
\ir parts/page_nodes.sql
SELECT f.id, f.matched, f.node
  FROM (SELECT n.place, 'job:' || n.id AS id, n.matched, n.node FROM page_nodes n
        UNION ALL
        SELECT 2, sort || ':' || low, 'id', NULL FROM q, unnest(ARRAY['agent', 'user']) AS sort WHERE low = high) AS f
 ORDER BY f.place, f.id COLLATE "C"
 LIMIT :limit
