-- Jobs by a part of their error: all jobs if the table is small, else the newest 5,000 failed jobs if an index serves
-- them.
-- query: part of a text
-- Index: one on jobs(status, created_at) of failed jobs.
WITH page AS (
  (SELECT j.*, j.xmin, j.ctid FROM :"schema".jobs j
    WHERE 'jobs_scan' = ANY (:met_needs) AND strpos(lower(j.error), lower(:query)) > 0
    ORDER BY j.created_at DESC, j.id LIMIT :limit)
  UNION ALL
  (SELECT f.*
     FROM (SELECT j.*, j.xmin, j.ctid FROM :"schema".jobs j
            WHERE NOT 'jobs_scan' = ANY (:met_needs) AND 'failed' = ANY (:met_needs) AND j.status = 'failed'
            ORDER BY j.created_at DESC LIMIT 5000) AS f
    WHERE strpos(lower(f.error), lower(:query)) > 0
    ORDER BY f.created_at DESC, f.id LIMIT :limit)
),
\ir parts/page_nodes.sql
SELECT 'job:' || n.id AS id, 'error' AS matched, NULL::text AS cursor, n.node FROM page_nodes n
UNION ALL
SELECT NULL, NULL,
       CASE WHEN 'jobs_scan' = ANY (:met_needs) THEN 'errors of all jobs'
            WHEN 'failed' = ANY (:met_needs) THEN 'errors of the newest 5,000 failed jobs only: the table is too large to search it whole'
            ELSE 'no errors: the table is too large to search it whole, and no index starts with the failed jobs' END, NULL
