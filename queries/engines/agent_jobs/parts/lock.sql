-- :lock
SELECT 'job:' || j.id AS id, j.status || '|' || j.updated_at || ':' || j.xmin AS version
  FROM :"schema".jobs j
 WHERE j.id = ANY (ARRAY(SELECT substr(i, 5)::uuid FROM unnest($1::text[]) AS i))
 ORDER BY j.id
   FOR NO KEY UPDATE SKIP LOCKED
