-- The rows of jobs, with the transaction or MultiXact that locked each row last.
-- Index: jobs_pkey.
WITH \ir parts/asked.sql
SELECT 'job:' || j.id AS id, j.tableoid AS relation, j.ctid::text AS place, j.xmax AS locker
  FROM asked j
