-- :lock
SELECT 'job:' || j.id AS id, j.xmin::text AS version
  FROM :"schema".:"pgqueuer" j
 WHERE j.id = ANY (ARRAY(SELECT substr(i, 5)::int8 FROM unnest(:ids) AS i))
 ORDER BY j.id
   FOR UPDATE SKIP LOCKED
