-- Jobs and tasks by id or id prefix; tasks also by kind if the table is small.
-- $1 query text: hexadecimal digits with or without hyphens, or part of a kind's name
-- $2 page int: maximum number of rows
-- $3 met_needs text[]
-- Indexes: job_pkey and task_pkey, as ranges of uuid.
WITH q AS (
  SELECT CASE WHEN $1::text ~* '^[0-9a-f-]{1,36}$' AND length(replace($1::text, '-', '')) BETWEEN 1 AND 32
              THEN rpad(replace($1::text, '-', ''), 32, '0')::uuid END AS low,
         CASE WHEN $1::text ~* '^[0-9a-f-]{1,36}$' AND length(replace($1::text, '-', '')) BETWEEN 1 AND 32
              THEN rpad(replace($1::text, '-', ''), 32, 'f')::uuid END AS high
)
(SELECT 'job:' || j.job_id AS id FROM :"schema".job j
  WHERE j.job_id BETWEEN (SELECT low FROM q) AND (SELECT high FROM q) ORDER BY j.job_id LIMIT $2::int)
UNION ALL
(SELECT 'task:' || t.task_id FROM :"schema".task t
  WHERE t.task_id BETWEEN (SELECT low FROM q) AND (SELECT high FROM q) ORDER BY t.task_id LIMIT $2::int)
UNION ALL
(SELECT 'task:' || t.task_id FROM :"schema".task t
  WHERE 'task_scan' = ANY ($3::text[]) AND strpos(lower(t.kind), lower($1::text)) > 0 ORDER BY t.created_at DESC, t.task_id LIMIT $2::int)
LIMIT $2::int
