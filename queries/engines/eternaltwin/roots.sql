-- Jobs in the order of their random ids. The order is stable for paging and unrelated to time.
-- cursor: last job_id of the previous page, or NULL
-- Index: job_pkey.
SELECT 'job:' || j.job_id AS id, j.job_id::text AS cursor
  FROM :"schema".job j
 WHERE :cursor IS NULL OR j.job_id > :cursor::text::uuid
 ORDER BY j.job_id
 LIMIT :limit
