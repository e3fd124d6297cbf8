-- Run a failed item again.
-- Index: work_items_pkey.

-- :lock
SELECT 'item:' || w.id AS id, w.xmin::text AS version
  FROM :"schema".work_items w
 WHERE w.id = ANY (ARRAY(SELECT substr(i, 6)::int8 FROM unnest(:ids) AS i))
 ORDER BY w.id
   FOR UPDATE SKIP LOCKED

-- :refused
SELECT 'item:' || w.id AS id, 'it is ' || w.state || ', not failed' AS why
  FROM :"schema".work_items w
 WHERE w.id = ANY (ARRAY(SELECT substr(i, 6)::int8 FROM unnest(:ids) AS i)) AND w.state <> 'failed'

-- :change
UPDATE :"schema".work_items w SET state = 'todo', due = now(), tries = 0, error = NULL
  FROM unnest(:ids, :versions) AS seen(id, version)
 WHERE w.id = substr(seen.id, 6)::int8 AND w.xmin::text = seen.version AND w.state = 'failed'
RETURNING 'item:' || w.id AS id
