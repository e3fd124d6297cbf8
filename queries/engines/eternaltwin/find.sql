-- Jobs and tasks by id or by the beginning of an id.
-- $1 query text: hexadecimal digits with or without hyphens
-- $2 page int: maximum number of rows
-- Indexes: job_pkey and task_pkey, as ranges of uuid.
WITH q AS (
  SELECT CASE WHEN $1::text ~* '^[0-9a-f-]{1,36}$' AND length(replace($1::text, '-', '')) BETWEEN 1 AND 32
              THEN rpad(replace($1::text, '-', ''), 32, '0')::uuid END AS low,
         CASE WHEN $1::text ~* '^[0-9a-f-]{1,36}$' AND length(replace($1::text, '-', '')) BETWEEN 1 AND 32
              THEN rpad(replace($1::text, '-', ''), 32, 'f')::uuid END AS high
)
SELECT f.id, CASE WHEN (SELECT low = high FROM q) THEN 'id' ELSE 'beginning' END AS matched
  FROM ((SELECT 'job:' || j.job_id AS id FROM :"schema".job j
          WHERE j.job_id BETWEEN (SELECT low FROM q) AND (SELECT high FROM q) ORDER BY j.job_id LIMIT $2::int)
        UNION ALL
        (SELECT 'task:' || t.task_id FROM :"schema".task t
          WHERE t.task_id BETWEEN (SELECT low FROM q) AND (SELECT high FROM q) ORDER BY t.task_id LIMIT $2::int)) AS f
 LIMIT $2::int
