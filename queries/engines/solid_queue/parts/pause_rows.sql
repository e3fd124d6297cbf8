-- :rows
SELECT 'queue:' || u.queue_name AS id, 'solid_queue_pauses' AS "table", u.id::text AS key, u.ctid::text AS place, row_to_json(u) AS row
  FROM :"schema".solid_queue_pauses u
 WHERE u.queue_name = ANY (:queue_keys)
