-- Jobs by their queue's job id or by id prefix; agents and users by id; jobs also by error text if the table is small.
-- $1 query text: a number, hexadecimal digits with or without hyphens, or part of a text
-- $2 settings jsonb: group: agent or user, the grouping of the tree
-- $3 page int: maximum number of rows
-- $4 met_needs text[]
-- Indexes: jobs_job_id_key, compared as text because a cast would read the whole table; jobs_pkey, as a range. Ids that do
-- not exist are removed when the nodes are read. The upper bound of the range is a row constructor: with a plain bound the
-- planner expects few rows, and reads and sorts them all instead of reading the first ones in order.
WITH q AS (
  SELECT CASE WHEN $1::text ~* '^[0-9a-f-]{1,36}$' AND length(replace($1::text, '-', '')) BETWEEN 1 AND 32
              THEN rpad(replace($1::text, '-', ''), 32, '0')::uuid END AS low,
         CASE WHEN $1::text ~* '^[0-9a-f-]{1,36}$' AND length(replace($1::text, '-', '')) BETWEEN 1 AND 32
              THEN rpad(replace($1::text, '-', ''), 32, 'f')::uuid END AS high
)
(SELECT 'job:' || j.id AS id, to_jsonb(n) AS node
   FROM (SELECT j.*, j.xmin, j.ctid FROM :"schema".jobs j WHERE j.job_id = $1::text LIMIT $3::int) AS j
  CROSS JOIN LATERAL (SELECT
\ir parts/job.sql
        ) AS n)
UNION ALL
(SELECT sort || ':' || q.low, NULL FROM q, unnest(ARRAY['agent', 'user']) AS sort WHERE q.low = q.high)
UNION ALL
(SELECT 'job:' || j.id, to_jsonb(n)
   FROM ((SELECT j.*, j.xmin, j.ctid FROM :"schema".jobs j
           WHERE j.id >= (SELECT low FROM q) AND (j.id, true) <= ((SELECT high FROM q), true) ORDER BY j.id LIMIT $3::int)
         UNION ALL
         (SELECT j.*, j.xmin, j.ctid FROM :"schema".jobs j
           WHERE 'jobs_scan' = ANY ($4::text[]) AND strpos(lower(j.error), lower($1::text)) > 0
           ORDER BY j.created_at DESC, j.id LIMIT $3::int)) AS j
  CROSS JOIN LATERAL (SELECT
\ir parts/job.sql
        ) AS n)
LIMIT $3::int
