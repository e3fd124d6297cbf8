-- Items that a worker took long ago.
-- needs: item_by_state
SELECT 'item:' || w.id AS id, extract(epoch FROM w.taken_at)::float8 AS since,
       jsonb_build_object('worker', w.taken_by, 'age', date_trunc('second', now() - w.taken_at)::text) AS evidence
  FROM :"schema".work_items w
 WHERE w.state = 'doing' AND w.state <> 'done'
   AND w.taken_at < now() - :stale
   AND (:ids IS NULL OR w.id = ANY (ARRAY(SELECT substr(i, 6)::int8 FROM unnest(:ids) AS i)))
 ORDER BY w.due
 LIMIT :limit
