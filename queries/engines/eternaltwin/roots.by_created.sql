-- Jobs, newest first.
-- cursor: created_at|job_id of the last row of the previous page, or NULL
-- needs: job_by_created
-- The subquery takes the page first and the outer query formats it: without the index all jobs are read and sorted, and
-- formatting a timestamp is expensive.
SELECT 'job:' || p.job_id AS id, p.created_at || '|' || p.job_id AS cursor
  FROM (SELECT j.created_at, j.job_id
          FROM :"schema".job j
         WHERE :cursor IS NULL
            OR (j.created_at, j.job_id) < (split_part(:cursor, '|', 1)::timestamptz, split_part(:cursor, '|', 2)::uuid)
         ORDER BY j.created_at DESC, j.job_id DESC
         LIMIT :limit) AS p
 ORDER BY p.created_at DESC, p.job_id DESC
