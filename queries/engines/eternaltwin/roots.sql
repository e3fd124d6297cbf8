-- Jobs in the order of their random ids. The order is stable for paging and unrelated to time.
-- $1 cursor text: last job_id of the previous page, or NULL
-- $2 page int: maximum number of rows
-- Index: job_pkey.
SELECT 'job:' || j.job_id AS id, j.job_id::text AS cursor
  FROM :"schema".job j
 WHERE $1::text IS NULL OR j.job_id > $1::text::uuid
 ORDER BY j.job_id
 LIMIT $2::int
