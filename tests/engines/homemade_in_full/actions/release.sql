-- Give an item back that its worker has not finished.
-- Index: work_items_pkey.

-- :lock
SELECT 'item:' || w.id AS id, w.xmin::text AS version
  FROM :"schema".work_items w
 WHERE w.id = ANY (ARRAY(SELECT substr(i, 6)::int8 FROM unnest(:ids) AS i))
 ORDER BY w.id
   FOR UPDATE SKIP LOCKED

-- :refused
SELECT 'item:' || w.id AS id,
       CASE WHEN w.state <> 'doing' THEN 'it is ' || w.state ELSE 'its worker took it lately' END AS why
  FROM :"schema".work_items w
 WHERE w.id = ANY (ARRAY(SELECT substr(i, 6)::int8 FROM unnest(:ids) AS i))
   AND (w.state <> 'doing' OR w.taken_at > now() - :stale)

-- :change
UPDATE :"schema".work_items w SET state = 'todo', taken_by = NULL, taken_at = NULL
  FROM unnest(:ids, :versions) AS seen(id, version)
 WHERE w.id = substr(seen.id, 6)::int8 AND w.xmin::text = seen.version AND w.state = 'doing'
RETURNING 'item:' || w.id AS id
