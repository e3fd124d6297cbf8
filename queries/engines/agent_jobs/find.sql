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
)
(SELECT 'job:' || j.id AS id, 'reference' AS matched, to_jsonb(n) AS node
   FROM (SELECT j.*, j.xmin, j.ctid FROM :"schema".jobs j WHERE j.job_id = :query LIMIT :limit) AS j
\ir parts/node.sql
)
UNION ALL
(SELECT sort || ':' || q.low, 'id', NULL FROM q, unnest(ARRAY['agent', 'user']) AS sort WHERE q.low = q.high)
UNION ALL
(SELECT 'job:' || j.id, CASE WHEN q.low = q.high THEN 'id' ELSE 'beginning' END, to_jsonb(n)
   FROM q, (SELECT j.*, j.xmin, j.ctid FROM :"schema".jobs j
             WHERE j.id >= (SELECT low FROM q) AND (j.id, true) <= ((SELECT high FROM q), true) ORDER BY j.id LIMIT :limit) AS j
\ir parts/node.sql
)
LIMIT :limit
