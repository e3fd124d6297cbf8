-- :rows
SELECT 'job:' || j.id AS id, 'jobs' AS "table", j.id::text AS key, row_to_json(j) AS row
  FROM :"schema".jobs j
 WHERE j.id = ANY (ARRAY(SELECT substr(i, 5)::uuid FROM unnest($1::text[]) AS i))
