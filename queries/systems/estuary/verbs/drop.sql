-- One message is taken out of the inbox, the others keep their order. Only while nobody can be polling: a poll writes the
-- inbox anew when it ends. One that fails again and again is free for moments only, unless its executor is trusted to
-- give a poll up once its heartbeat is three quarters of the timeout old.
-- $1 ids text[]: local ids
-- $2 versions text[]: what the operator saw of each
-- $3 args jsonb: position: counted from 1; early: from three quarters of the timeout on
-- $4 limits jsonb: heartbeat_timeout by type
-- Index: tasks_pkey.

-- :lock
SELECT 'task:' || t.task_id AS id, t.xmin::text AS version
  FROM :"schema".tasks t
 WHERE t.task_id = ANY (ARRAY(SELECT substr(i, 6)::macaddr8 FROM unnest($1::text[]) AS i))
 ORDER BY t.task_id
   FOR NO KEY UPDATE SKIP LOCKED

-- :refused
SELECT 'task:' || t.task_id AS id,
       CASE WHEN t.heartbeat <> '0001-01-01T00:00:00Z'::timestamptz
                 AND t.heartbeat >= now() - CASE WHEN ($3::jsonb ->> 'early')::bool THEN 0.75 ELSE 1 END * make_interval(secs => coalesce($4::jsonb -> t.task_type::text ->> 'heartbeat_timeout', $4::jsonb ->> 'heartbeat_timeout')::float8)
            THEN CASE WHEN t.heartbeat < now() - 0.75 * make_interval(secs => coalesce($4::jsonb -> t.task_type::text ->> 'heartbeat_timeout', $4::jsonb ->> 'heartbeat_timeout')::float8)
                      THEN 'its heartbeat is younger than the timeout. Its executor has given the poll up by now, if it keeps its rule: say so (early), or wait'
                      ELSE 'its heartbeat is younger than the timeout: it may still be polled, and the poll writes the inbox anew' END
            ELSE 'there is no message ' || ($3::jsonb ->> 'position') || ' in its inbox, which holds ' || coalesce(cardinality(t.inbox), 0) END AS why
  FROM :"schema".tasks t
 WHERE t.task_id = ANY (ARRAY(SELECT substr(i, 6)::macaddr8 FROM unnest($1::text[]) AS i))
   AND ((t.heartbeat <> '0001-01-01T00:00:00Z'::timestamptz
         AND t.heartbeat >= now() - CASE WHEN ($3::jsonb ->> 'early')::bool THEN 0.75 ELSE 1 END * make_interval(secs => coalesce($4::jsonb -> t.task_type::text ->> 'heartbeat_timeout', $4::jsonb ->> 'heartbeat_timeout')::float8))
        OR coalesce(($3::jsonb ->> 'position')::int8 NOT BETWEEN 1 AND coalesce(cardinality(t.inbox), 0), true))

-- :rows
\ir ../parts/task_rows.sql

-- :change
UPDATE :"schema".tasks t
   SET inbox = (SELECT array_agg(e.element ORDER BY e.position) FROM unnest(t.inbox) WITH ORDINALITY AS e(element, position)
                 WHERE e.position <> ($3::jsonb ->> 'position')::int8)
  FROM unnest($1::text[], $2::text[]) AS seen(id, version)
 WHERE t.task_id = substr(seen.id, 6)::macaddr8
   AND t.xmin::text = seen.version
   AND (t.heartbeat = '0001-01-01T00:00:00Z'::timestamptz
        OR t.heartbeat < now() - CASE WHEN ($3::jsonb ->> 'early')::bool THEN 0.75 ELSE 1 END * make_interval(secs => coalesce($4::jsonb -> t.task_type::text ->> 'heartbeat_timeout', $4::jsonb ->> 'heartbeat_timeout')::float8))
RETURNING 'task:' || t.task_id AS id
