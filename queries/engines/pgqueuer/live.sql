-- Unfinished jobs: running ones, the earliest picked first, then queued ones in the order in which workers take them.
-- needs: picked, queued
-- cursor: p|updated|id or q|priority|id of the last row of the previous page, or NULL
-- Indexes: pgqueuer_updated_id_id1_idx; pgqueuer_priority_id_id1_idx, the rest of a priority and the lower ones separately.
WITH c AS MATERIALIZED (
  SELECT CASE WHEN :cursor LIKE 'q|%' THEN 'infinity' WHEN :cursor IS NULL THEN '-infinity' ELSE split_part(:cursor, '|', 2) END::timestamptz AS updated,
         CASE WHEN :cursor LIKE 'q|%' THEN split_part(:cursor, '|', 2)::int8 ELSE 3000000000 END AS priority,
         coalesce(nullif(split_part(:cursor, '|', 3), '')::int8, 9223372036854775807) AS id
),
queued AS (
  (SELECT j.id, j.priority FROM :"schema".:"pgqueuer" j
    WHERE j.status = 'queued' AND j.priority = (SELECT c.priority FROM c) AND j.id > (SELECT c.id FROM c)
    ORDER BY j.priority DESC, j.id LIMIT :limit)
  UNION ALL
  (SELECT j.id, j.priority FROM :"schema".:"pgqueuer" j
    WHERE j.status = 'queued' AND j.priority < (SELECT c.priority FROM c)
    ORDER BY j.priority DESC, j.id LIMIT :limit)
)
(SELECT 'job:' || j.id AS id, 'p|' || j.updated || '|' || j.id AS cursor
   FROM :"schema".:"pgqueuer" j
  WHERE j.status = 'picked' AND j.updated >= (SELECT c.updated FROM c)
    AND (j.updated > (SELECT c.updated FROM c) OR j.id < (SELECT c.id FROM c))
  ORDER BY j.updated, j.id DESC LIMIT :limit)
UNION ALL
(SELECT 'job:' || q.id, 'q|' || q.priority || '|' || q.id FROM queued q ORDER BY q.priority DESC, q.id LIMIT :limit)
LIMIT :limit
