-- The rows of jobs, with the transaction or MultiXact that locked each row last.
-- Index: oban_jobs_pkey.
SELECT 'job:' || j.id AS id, j.tableoid AS relation, j.ctid::text AS place, j.xmax AS locker
  FROM :"schema".oban_jobs j
 WHERE j.id = ANY (ARRAY(SELECT substr(i, 5)::int8 FROM unnest(:ids) AS i WHERE i ~ '^job:[0-9]{1,18}$'))
