-- Jobs in the order of their random ids: stable for paging, without meaning in time.
-- $1 cursor text: the last job_id of the page before, or NULL
-- $2 page int: how many at most
-- Index: job_pkey.
SELECT 'job:' || j.job_id AS id, j.job_id::text AS cursor
  FROM :"schema".job j
 WHERE $1::text IS NULL OR j.job_id > $1::text::uuid
 ORDER BY j.job_id
 LIMIT $2::int
