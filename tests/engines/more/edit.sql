-- Replace the payload of a failed item.
-- :versions: version of each node that the operator saw, or the digest of the payload that was edited
-- :args: payload: text, the edited payload; seen, the digest of the payload that was edited
-- Index: work_items_pkey.

-- :lock
SELECT 'item:' || t.id AS id, t.xmin::text AS version, d.digest AS steady,
       CASE WHEN seen.version LIKE 'same:%'
            THEN jsonb_build_object('document', d.digest) @> substr(seen.version, 6)::jsonb ELSE false END AS unchanged
  FROM :"schema".work_items t
 CROSS JOIN LATERAL (SELECT (:versions)[array_position(:ids, 'item:' || t.id)] AS version) AS seen
 CROSS JOIN LATERAL (SELECT md5(t.payload::text) AS digest) AS d
 WHERE t.id = ANY (:item_keys)
 ORDER BY t.id
   FOR NO KEY UPDATE OF t SKIP LOCKED

-- :refused
SELECT 'item:' || t.id AS id, 'it is ' || t.state AS why
  FROM :"schema".work_items t
 WHERE t.id = ANY (:item_keys) AND t.state <> 'failed'

-- :change
UPDATE :"schema".work_items t SET payload = (:args -> 'payload' ->> 'text')::jsonb
  FROM unnest(:ids, :versions) AS seen(id, version)
 WHERE t.id = substr(seen.id, 6)::int8 AND t.xmin::text = seen.version AND t.state = 'failed'
   AND md5(t.payload::text) = :args -> 'payload' ->> 'seen'
RETURNING 'item:' || t.id AS id

-- :document
SELECT 'item:' || t.id AS id, md5(t.payload::text) AS digest, 'jsonb' AS stored, octet_length(t.payload::text)::int8 AS size,
       CASE WHEN octet_length(t.payload::text) <= :bytes THEN t.payload::text END AS document, NULL::text AS why
  FROM :"schema".work_items t
 WHERE t.id = ANY (:item_keys)
