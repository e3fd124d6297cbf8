-- Set unfinished tasks to Complete without output and delete their timers. The revision is incremented, so the
-- compare-and-set of a running poll fails and its result is discarded (assumed).
-- $1 ids text[]: local ids
-- $2 versions text[]: for each id, the version that the operator saw or the guard of a finding
-- Indexes: task_pkey; timers by an index on task_timer(task_id).

-- :lock
SELECT 'task:' || t.task_id AS id, t.revision || ':' || t.status || ':' || t.xmin AS version,
\ir ../parts/same.sql
       AS unchanged
  FROM :"schema".task t
 CROSS JOIN LATERAL (SELECT ($2::text[])[array_position($1::text[], 'task:' || t.task_id)] AS version) AS seen
 WHERE t.task_id = ANY (ARRAY(SELECT substr(i, 6)::uuid FROM unnest($1::text[]) AS i))
 ORDER BY t.task_id
   FOR UPDATE OF t SKIP LOCKED

-- :refused
SELECT 'task:' || t.task_id AS id, 'the task is already Complete' AS why
  FROM :"schema".task t
 WHERE t.task_id = ANY (ARRAY(SELECT substr(i, 6)::uuid FROM unnest($1::text[]) AS i))
   AND t.status = 'Complete'

-- :rows
SELECT 'task:' || t.task_id AS id, 'task' AS "table", t.task_id::text AS key,
\ir ../parts/task_row.sql
  FROM :"schema".task t
 WHERE t.task_id = ANY (ARRAY(SELECT substr(i, 6)::uuid FROM unnest($1::text[]) AS i))
UNION ALL
SELECT 'task:' || m.task_id, 'task_timer', m.deadline || ' ' || m.task_id, row_to_json(m)
  FROM :"schema".task_timer m
 WHERE m.task_id = ANY (ARRAY(SELECT substr(i, 6)::uuid FROM unnest($1::text[]) AS i))

-- :change
WITH cancelled AS (
  UPDATE :"schema".task t SET status = 'Complete', revision = t.revision + 1
    FROM unnest($1::text[], $2::text[]) AS seen(id, version)
   WHERE t.task_id = substr(seen.id, 6)::uuid
     AND t.status <> 'Complete'
     AND t.revision || ':' || t.status || ':' || t.xmin = seen.version
  RETURNING t.task_id
), gone AS (
  DELETE FROM :"schema".task_timer m USING cancelled c WHERE m.task_id = c.task_id
)
SELECT 'task:' || c.task_id AS id FROM cancelled c
