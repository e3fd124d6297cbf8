-- The rows of jobs, with the transaction or MultiXact that locked each row last.
-- $1 ids text[]: local ids
-- Index: jobs_pkey.
SELECT 'job:' || j.id AS id, j.tableoid AS relation, j.ctid::text AS place, j.xmax AS locker
  FROM :"schema".jobs j
 WHERE j.id = ANY (ARRAY(SELECT substr(i, 5)::uuid FROM unnest($1::text[]) AS i WHERE i LIKE 'job:%'))
