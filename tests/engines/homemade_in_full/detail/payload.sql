-- The item's payload.
-- title: Payload
-- kinds: item
-- Index: work_items_pkey.
SELECT substr(convert_to(w.payload::text, 'UTF8'), 1, :bytes) AS payload, octet_length(w.payload::text)::int8 AS size
  FROM :"schema".work_items w
 WHERE w.id = substr(:id, 6)::int8
