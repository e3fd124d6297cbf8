-- A task whose executor is gone becomes idle and due. Its heartbeat must be older than the timeout: a younger one may be
-- a live poll's, and a second executor would be let in beside it. (An executor gives a poll up once its heartbeat is
-- three quarters of the timeout old; who trusts that may act early.) Messages set aside follow those in the inbox: left in
-- inbox_next they would be overtaken by later ones.
-- $1 ids text[]: local ids
-- $2 versions text[]: for each id, the version that the operator saw
-- $3 limits jsonb: heartbeat_timeout by type
-- $4 args jsonb: early: from three quarters of the timeout on
-- Index: tasks_pkey.

-- :lock
SELECT 'task:' || t.task_id AS id, t.xmin::text AS version, t.heartbeat::text AS steady
  FROM :"schema".tasks t
 WHERE t.task_id = ANY (ARRAY(SELECT substr(i, 6)::macaddr8 FROM unnest($1::text[]) AS i))
 ORDER BY t.task_id
   FOR NO KEY UPDATE SKIP LOCKED

-- :refused
SELECT 'task:' || t.task_id AS id,
       CASE WHEN t.heartbeat = '0001-01-01T00:00:00Z'::timestamptz THEN 'nobody holds it'
            WHEN t.heartbeat < now() - 0.75 * make_interval(secs => coalesce($3::jsonb -> t.task_type::text ->> 'heartbeat_timeout', $3::jsonb ->> 'heartbeat_timeout')::float8)
            THEN 'its heartbeat is younger than the timeout. Its executor has given the poll up by now, if it keeps its rule: say so (early), or wait'
            ELSE 'its heartbeat is younger than the timeout: it may still be polled. Fence it instead, or wait' END AS why,
       t.heartbeat <> '0001-01-01T00:00:00Z'::timestamptz AND isfinite(t.heartbeat) AS for_now
  FROM :"schema".tasks t
 WHERE t.task_id = ANY (ARRAY(SELECT substr(i, 6)::macaddr8 FROM unnest($1::text[]) AS i))
   AND (t.heartbeat = '0001-01-01T00:00:00Z'::timestamptz
        OR t.heartbeat >= now() - CASE WHEN ($4::jsonb ->> 'early')::bool THEN 0.75 ELSE 1 END * make_interval(secs => coalesce($3::jsonb -> t.task_type::text ->> 'heartbeat_timeout', $3::jsonb ->> 'heartbeat_timeout')::float8))

-- :rows
\ir ../parts/task_rows.sql

-- :change
UPDATE :"schema".tasks t
   SET heartbeat = '0001-01-01T00:00:00Z'::timestamptz, inbox = t.inbox || t.inbox_next, inbox_next = NULL, wake_at = least(t.wake_at, now())
  FROM unnest($1::text[], $2::text[]) AS seen(id, version)
 WHERE t.task_id = substr(seen.id, 6)::macaddr8
   AND t.xmin::text = seen.version
   AND t.heartbeat <> '0001-01-01T00:00:00Z'::timestamptz
   AND t.heartbeat < now() - CASE WHEN ($4::jsonb ->> 'early')::bool THEN 0.75 ELSE 1 END * make_interval(secs => coalesce($3::jsonb -> t.task_type::text ->> 'heartbeat_timeout', $3::jsonb ->> 'heartbeat_timeout')::float8)
RETURNING 'task:' || t.task_id AS id
