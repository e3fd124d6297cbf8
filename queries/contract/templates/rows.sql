
-- :rows
SELECT :id AS id, :name AS "table", t.:key::text AS key, t.ctid::text AS place, row_to_json(t.*) AS row
  FROM :"schema".:table AS t
 WHERE t.:key = ANY (:keys)
