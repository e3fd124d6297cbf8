-- Jobs by the number they have in their queue, or by the beginning of an id; agents and users by their ids; where the
-- table is small, jobs by a piece of their error.
-- $1 query text: a number, hexadecimal digits with or without hyphens, or a piece of text
-- $2 page int: how many at most
-- $3 have text[]
-- Indexes: jobs_job_id_key (as text: a cast would read the whole table), jobs_pkey as a range; what does not exist drops
-- out when it is read.
WITH q AS (
  SELECT CASE WHEN $1::text ~* '^[0-9a-f-]{1,36}$' AND length(replace($1::text, '-', '')) BETWEEN 1 AND 32
              THEN rpad(replace($1::text, '-', ''), 32, '0')::uuid END AS low,
         CASE WHEN $1::text ~* '^[0-9a-f-]{1,36}$' AND length(replace($1::text, '-', '')) BETWEEN 1 AND 32
              THEN rpad(replace($1::text, '-', ''), 32, 'f')::uuid END AS high
)
(SELECT 'job:' || j.id AS id FROM jobs j WHERE j.job_id = $1::text LIMIT $2::int)
UNION ALL
(SELECT sort || ':' || q.low FROM q, unnest(ARRAY['agent', 'user']) AS sort WHERE q.low = q.high)
UNION ALL
(SELECT 'job:' || j.id FROM jobs j
  WHERE j.id BETWEEN (SELECT low FROM q) AND (SELECT high FROM q) ORDER BY j.id LIMIT $2::int)
UNION ALL
(SELECT 'job:' || j.id FROM jobs j
  WHERE 'jobs_scan' = ANY ($3::text[]) AND strpos(lower(j.error), lower($1::text)) > 0
  ORDER BY j.created_at DESC, j.id LIMIT $2::int)
LIMIT $2::int
