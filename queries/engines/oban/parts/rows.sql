-- :rows
SELECT 'job:' || j.id AS id, 'oban_jobs' AS "table", j.id::text AS key, j.ctid::text AS place, row_to_json(j) AS row
  FROM :"schema".oban_jobs j
 WHERE j.id = ANY (:job_keys)
