-- Suspend idle tasks. A task with messages is refused, because no poll would read them. A locked task is refused, because
-- executors never take over a locked row that is not due.
-- $1 ids text[]: local ids
-- $2 versions text[]: for each id, the version that the operator saw or the guard of a finding
-- Index: tasks_pkey.

-- :lock
SELECT 'task:' || t.task_id AS id, t.xmin::text AS version,
\ir ../parts/same.sql
       AS unchanged
  FROM :"schema".tasks t
 CROSS JOIN LATERAL (SELECT ($2::text[])[array_position($1::text[], 'task:' || t.task_id)] AS version) AS seen
 WHERE t.task_id = ANY (ARRAY(SELECT substr(i, 6)::macaddr8 FROM unnest($1::text[]) AS i))
 ORDER BY t.task_id
   FOR NO KEY UPDATE OF t SKIP LOCKED

-- :refused
SELECT 'task:' || t.task_id AS id,
       CASE WHEN t.heartbeat <> '0001-01-01T00:00:00Z'::timestamptz THEN 'the task is locked: a running poll sets wake_at when it ends, and if its executor dies no other executor takes the task'
            WHEN t.wake_at IS NULL THEN 'the task is already suspended'
            ELSE 'the inbox is not empty: a parked task would not read it' END AS why,
       t.heartbeat <> '0001-01-01T00:00:00Z'::timestamptz AND isfinite(t.heartbeat) AS for_now
  FROM :"schema".tasks t
 WHERE t.task_id = ANY (ARRAY(SELECT substr(i, 6)::macaddr8 FROM unnest($1::text[]) AS i))
   AND (t.heartbeat <> '0001-01-01T00:00:00Z'::timestamptz OR t.wake_at IS NULL OR cardinality(t.inbox) > 0)

-- :rows
\ir ../parts/task_rows.sql

-- :change
UPDATE :"schema".tasks t SET wake_at = NULL
  FROM unnest($1::text[], $2::text[]) AS seen(id, version)
 WHERE t.task_id = substr(seen.id, 6)::macaddr8
   AND t.xmin::text = seen.version
   AND t.heartbeat = '0001-01-01T00:00:00Z'::timestamptz
   AND coalesce(cardinality(t.inbox), 0) = 0
RETURNING 'task:' || t.task_id AS id
