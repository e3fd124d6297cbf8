-- Note that a failed item was seen, in the item and in the log.
-- Index: work_items_pkey.

-- :lock
SELECT 'item:' || t.id AS id, t.xmin::text AS version
  FROM :"schema".work_items t
 WHERE t.id = ANY (:item_keys)
 ORDER BY t.id
   FOR NO KEY UPDATE SKIP LOCKED

-- :refused
SELECT 'item:' || t.id AS id, 'it is ' || t.state AS why
  FROM :"schema".work_items t
 WHERE t.id = ANY (:item_keys) AND t.state <> 'failed'

-- :change
WITH changed AS (
  UPDATE :"schema".work_items t SET error = 'seen'
    FROM unnest(:ids, :versions) AS seen(id, version)
   WHERE t.id = substr(seen.id, 6)::int8 AND t.xmin::text = seen.version AND t.state = 'failed'
  RETURNING t.id
)
INSERT INTO :"schema".log (item) SELECT c.id FROM changed c RETURNING 'item:' || item AS id
