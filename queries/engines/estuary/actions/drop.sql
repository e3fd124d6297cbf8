-- Remove one message from the inbox; the other messages keep their order. Position and digest identify the message, so that
-- another message which moved to that position is not dropped. A message that the type can decode is dropped only with
-- decodable. The action requires that no poll can be running, because a poll writes the inbox when it ends. A task that
-- fails repeatedly is idle only for short times. The operator can wait for such a time, or set early: by the engine's rule,
-- an executor aborts its poll when the heartbeat is older than 75 % of the timeout.
-- $1 ids text[]: local ids
-- $2 settings jsonb: messages and heartbeat_timeout by type
-- $3 versions text[]: for each id, the version that the operator saw or the guard of a finding
-- $4 args jsonb: position: from 1; digest; decodable; early: act after 75 % of the timeout
-- Index: tasks_pkey.

-- :lock
SELECT 'task:' || t.task_id AS id, t.xmin::text AS version,
\ir ../parts/same_message.sql
       AS unchanged
  FROM :"schema".tasks t
 CROSS JOIN LATERAL (SELECT ($3::text[])[array_position($1::text[], 'task:' || t.task_id)] AS version) AS seen
 WHERE t.task_id = ANY (ARRAY(SELECT substr(i, 6)::macaddr8 FROM unnest($1::text[]) AS i))
 ORDER BY t.task_id
   FOR NO KEY UPDATE OF t SKIP LOCKED

-- :refused
SELECT 'task:' || t.task_id AS id,
       CASE WHEN t.heartbeat < now() - 0.75 * make_interval(secs => coalesce($2::jsonb -> t.task_type::text ->> 'heartbeat_timeout', $2::jsonb ->> 'heartbeat_timeout')::float8)
            THEN 'the heartbeat is younger than the timeout. By the engine''s rule, the executor has aborted its poll: set early to act now, or wait'
            ELSE 'the heartbeat is younger than the timeout: a running poll would overwrite the inbox' END AS why,
       isfinite(t.heartbeat) AS for_now
  FROM :"schema".tasks t
 WHERE t.task_id = ANY (ARRAY(SELECT substr(i, 6)::macaddr8 FROM unnest($1::text[]) AS i))
   AND t.heartbeat <> '0001-01-01T00:00:00Z'::timestamptz
   AND t.heartbeat >= now() - CASE WHEN ($4::jsonb ->> 'early')::bool THEN 0.75 ELSE 1 END * make_interval(secs => coalesce($2::jsonb -> t.task_type::text ->> 'heartbeat_timeout', $2::jsonb ->> 'heartbeat_timeout')::float8)

-- :refused
WITH
\ir ../parts/named.sql
SELECT 'task:' || t.task_id AS id,
       CASE WHEN j.task_id IS NULL THEN 'message ' || coalesce($4::jsonb ->> 'position', '?') || ' does not exist: the inbox has ' || coalesce(cardinality(t.inbox), 0) || ' messages'
            WHEN j.digest IS DISTINCT FROM $4::jsonb ->> 'digest' THEN 'message ' || j.position || ' of the inbox has another digest now: ' || j.digest
            WHEN j.verdict = 'decodable' THEN 'the task''s type can decode message ' || j.position || '. Set decodable to drop it'
            ELSE 'the task''s type may be able to decode message ' || j.position || '. Set decodable to drop it' END AS why
  FROM :"schema".tasks t LEFT JOIN judged j ON j.task_id = t.task_id
 WHERE t.task_id = ANY (ARRAY(SELECT substr(i, 6)::macaddr8 FROM unnest($1::text[]) AS i))
   AND NOT coalesce(j.digest = $4::jsonb ->> 'digest'
                    AND (j.verdict IN ('malformed', 'unlisted') OR coalesce(($4::jsonb ->> 'decodable')::bool, false)), false)

-- :rows
\ir ../parts/task_rows.sql

-- :change
WITH
\ir ../parts/named.sql
UPDATE :"schema".tasks t
   SET inbox = (SELECT array_agg(e.element ORDER BY e.position) FROM unnest(t.inbox) WITH ORDINALITY AS e(element, position)
                 WHERE e.position <> j.position)
  FROM unnest($1::text[], $3::text[]) AS seen(id, version)
  JOIN judged j ON j.task_id = substr(seen.id, 6)::macaddr8
 WHERE t.task_id = j.task_id
   AND t.xmin::text = seen.version
   AND j.digest = $4::jsonb ->> 'digest'
   AND (j.verdict IN ('malformed', 'unlisted') OR coalesce(($4::jsonb ->> 'decodable')::bool, false))
   AND (t.heartbeat = '0001-01-01T00:00:00Z'::timestamptz
        OR t.heartbeat < now() - CASE WHEN ($4::jsonb ->> 'early')::bool THEN 0.75 ELSE 1 END * make_interval(secs => coalesce($2::jsonb -> t.task_type::text ->> 'heartbeat_timeout', $2::jsonb ->> 'heartbeat_timeout')::float8))
RETURNING 'task:' || t.task_id AS id
