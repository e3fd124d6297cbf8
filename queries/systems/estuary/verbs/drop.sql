-- One message is taken out of the inbox, the others keep their order. Only while nobody can be polling: a poll writes the
-- inbox anew when it ends.
-- $1 ids text[]: local ids
-- $2 versions text[]: what the operator saw of each
-- $3 args jsonb: position: counted from 1
-- $4 limits jsonb: heartbeat_timeout by type
-- Index: tasks_pkey.

-- :lock
SELECT 'task:' || t.task_id AS id, t.xmin::text AS version
  FROM tasks t
 WHERE t.task_id = ANY (ARRAY(SELECT substr(i, 6)::macaddr8 FROM unnest($1::text[]) AS i))
 ORDER BY t.task_id
   FOR NO KEY UPDATE SKIP LOCKED

-- :refused
SELECT 'task:' || t.task_id AS id,
       CASE WHEN t.heartbeat <> '0001-01-01T00:00:00Z'::timestamptz
                 AND t.heartbeat >= now() - make_interval(secs => coalesce($4::jsonb -> t.task_type::text ->> 'heartbeat_timeout', $4::jsonb ->> 'heartbeat_timeout')::float8)
            THEN 'its heartbeat is younger than the timeout: it may still be polled, and the poll writes the inbox anew'
            ELSE 'there is no message ' || ($3::jsonb ->> 'position') || ' in its inbox, which holds ' || coalesce(cardinality(t.inbox), 0) END AS why
  FROM tasks t
 WHERE t.task_id = ANY (ARRAY(SELECT substr(i, 6)::macaddr8 FROM unnest($1::text[]) AS i))
   AND ((t.heartbeat <> '0001-01-01T00:00:00Z'::timestamptz
         AND t.heartbeat >= now() - make_interval(secs => coalesce($4::jsonb -> t.task_type::text ->> 'heartbeat_timeout', $4::jsonb ->> 'heartbeat_timeout')::float8))
        OR coalesce(($3::jsonb ->> 'position')::int8 NOT BETWEEN 1 AND coalesce(cardinality(t.inbox), 0), true))

-- :rows
SELECT 'task:' || t.task_id AS id, 'tasks' AS "table", t.task_id::text AS key,
       jsonb_build_object('task_id', t.task_id::text, 'task_type', t.task_type, 'parent_id', t.parent_id::text, 'inner_state', t.inner_state::text,
                          'wake_at', t.wake_at::text, 'heartbeat', t.heartbeat::text, 'inbox', t.inbox::text[], 'inbox_next', t.inbox_next::text[]) AS row
  FROM tasks t
 WHERE t.task_id = ANY (ARRAY(SELECT substr(i, 6)::macaddr8 FROM unnest($1::text[]) AS i))

-- :change
UPDATE tasks t
   SET inbox = (SELECT array_agg(e.element ORDER BY e.position) FROM unnest(t.inbox) WITH ORDINALITY AS e(element, position)
                 WHERE e.position <> ($3::jsonb ->> 'position')::int8)
  FROM unnest($1::text[], $2::text[]) AS seen(id, version)
 WHERE t.task_id = substr(seen.id, 6)::macaddr8
   AND t.xmin::text = seen.version
   AND (t.heartbeat = '0001-01-01T00:00:00Z'::timestamptz
        OR t.heartbeat < now() - make_interval(secs => coalesce($4::jsonb -> t.task_type::text ->> 'heartbeat_timeout', $4::jsonb ->> 'heartbeat_timeout')::float8))
RETURNING 'task:' || t.task_id AS id
