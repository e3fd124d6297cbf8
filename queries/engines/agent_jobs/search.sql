-- Jobs by a part of their error: all jobs if the table is small, else the newest 5,000 failed jobs if an index serves them.
-- $1 query text: part of a text
-- $2 settings jsonb: group: agent or user, the grouping of the tree
-- $3 page int: maximum number of rows
-- $4 met_needs text[]
-- Index: one on jobs(status, created_at) of failed jobs.
(SELECT 'job:' || j.id AS id, 'error' AS matched, NULL::text AS cursor, to_jsonb(n) AS node
   FROM ((SELECT j.*, j.xmin, j.ctid FROM :"schema".jobs j
           WHERE 'jobs_scan' = ANY ($4::text[]) AND strpos(lower(j.error), lower($1::text)) > 0
           ORDER BY j.created_at DESC, j.id LIMIT $3::int)
         UNION ALL
         (SELECT f.*
            FROM (SELECT j.*, j.xmin, j.ctid FROM :"schema".jobs j
                   WHERE NOT 'jobs_scan' = ANY ($4::text[]) AND 'failed' = ANY ($4::text[]) AND j.status = 'failed'
                   ORDER BY j.created_at DESC LIMIT 5000) AS f
           WHERE strpos(lower(f.error), lower($1::text)) > 0
           ORDER BY f.created_at DESC, f.id LIMIT $3::int)) AS j
  CROSS JOIN LATERAL (SELECT
\ir parts/job.sql
        ) AS n)
UNION ALL
SELECT NULL, NULL,
       CASE WHEN 'jobs_scan' = ANY ($4::text[]) THEN 'errors of all jobs'
            WHEN 'failed' = ANY ($4::text[]) THEN 'errors of the newest 5,000 failed jobs only: the table is too large to search it whole'
            ELSE 'no errors: the table is too large to search it whole, and no index starts with the failed jobs' END, NULL
