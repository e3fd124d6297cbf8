-- A task whose executor is gone becomes idle and due. Its heartbeat must be older than the timeout: a younger one may be
-- a live poll's, and a second executor would be let in beside it. Messages set aside follow those in the inbox: left in
-- inbox_next they would be overtaken by later ones.
-- $1 ids text[]: local ids
-- $2 versions text[]: what the operator saw of each
-- $3 limits jsonb: heartbeat_timeout by type
-- Index: tasks_pkey.

-- :lock
SELECT 'task:' || t.task_id AS id, t.xmin::text AS version
  FROM tasks t
 WHERE t.task_id = ANY (ARRAY(SELECT substr(i, 6)::macaddr8 FROM unnest($1::text[]) AS i))
 ORDER BY t.task_id
   FOR NO KEY UPDATE SKIP LOCKED

-- :refused
SELECT 'task:' || t.task_id AS id,
       CASE WHEN t.heartbeat = '0001-01-01T00:00:00Z'::timestamptz THEN 'nobody holds it'
            ELSE 'its heartbeat is younger than the timeout: it may still be polled. Fence it instead, or wait' END AS why
  FROM tasks t
 WHERE t.task_id = ANY (ARRAY(SELECT substr(i, 6)::macaddr8 FROM unnest($1::text[]) AS i))
   AND (t.heartbeat = '0001-01-01T00:00:00Z'::timestamptz
        OR t.heartbeat >= now() - make_interval(secs => coalesce($3::jsonb -> t.task_type::text ->> 'heartbeat_timeout', $3::jsonb ->> 'heartbeat_timeout')::float8))

-- :rows
SELECT 'task:' || t.task_id AS id, 'tasks' AS "table", t.task_id::text AS key,
       jsonb_build_object('task_id', t.task_id::text, 'task_type', t.task_type, 'parent_id', t.parent_id::text, 'inner_state', t.inner_state::text,
                          'wake_at', t.wake_at::text, 'heartbeat', t.heartbeat::text, 'inbox', t.inbox::text[], 'inbox_next', t.inbox_next::text[]) AS row
  FROM tasks t
 WHERE t.task_id = ANY (ARRAY(SELECT substr(i, 6)::macaddr8 FROM unnest($1::text[]) AS i))

-- :change
UPDATE tasks t
   SET heartbeat = '0001-01-01T00:00:00Z'::timestamptz, inbox = t.inbox || t.inbox_next, inbox_next = NULL, wake_at = least(t.wake_at, now())
  FROM unnest($1::text[], $2::text[]) AS seen(id, version)
 WHERE t.task_id = substr(seen.id, 6)::macaddr8
   AND t.xmin::text = seen.version
   AND t.heartbeat <> '0001-01-01T00:00:00Z'::timestamptz
   AND t.heartbeat < now() - make_interval(secs => coalesce($3::jsonb -> t.task_type::text ->> 'heartbeat_timeout', $3::jsonb ->> 'heartbeat_timeout')::float8)
RETURNING 'task:' || t.task_id AS id
