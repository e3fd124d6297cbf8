-- One message is taken out of the inbox, the others keep their order. It is named by its position and its digest, so
-- that a message which has moved up to that position is not dropped in its stead. One that its type can decode is only
-- dropped on demand. Only while nobody can be polling: a poll writes the inbox again when it ends. A task that fails again
-- and again is free for moments only, unless its executor is trusted to give a poll up once its heartbeat is three
-- quarters of the timeout old; the operator may wait for such a moment.
-- $1 ids text[]: local ids
-- $2 limits jsonb: messages and heartbeat_timeout by type
-- $3 versions text[]: for each id, the version that the operator saw or the guard of a finding
-- $4 args jsonb: position: counted from 1; digest; decodable; early: from three quarters of the timeout on
-- Index: tasks_pkey.

-- :lock
SELECT 'task:' || t.task_id AS id, t.xmin::text AS version,
\ir ../parts/same_message.sql
       AS same
  FROM :"schema".tasks t
 CROSS JOIN LATERAL (SELECT ($3::text[])[array_position($1::text[], 'task:' || t.task_id)] AS version) AS seen
 WHERE t.task_id = ANY (ARRAY(SELECT substr(i, 6)::macaddr8 FROM unnest($1::text[]) AS i))
 ORDER BY t.task_id
   FOR NO KEY UPDATE OF t SKIP LOCKED

-- :refused
SELECT 'task:' || t.task_id AS id,
       CASE WHEN t.heartbeat < now() - 0.75 * make_interval(secs => coalesce($2::jsonb -> t.task_type::text ->> 'heartbeat_timeout', $2::jsonb ->> 'heartbeat_timeout')::float8)
            THEN 'its heartbeat is younger than the timeout. Its executor has given the poll up by now, if it keeps its rule: say so (early), or wait'
            ELSE 'its heartbeat is younger than the timeout: it may still be polled, and the poll writes the inbox again' END AS why,
       isfinite(t.heartbeat) AS for_now
  FROM :"schema".tasks t
 WHERE t.task_id = ANY (ARRAY(SELECT substr(i, 6)::macaddr8 FROM unnest($1::text[]) AS i))
   AND t.heartbeat <> '0001-01-01T00:00:00Z'::timestamptz
   AND t.heartbeat >= now() - CASE WHEN ($4::jsonb ->> 'early')::bool THEN 0.75 ELSE 1 END * make_interval(secs => coalesce($2::jsonb -> t.task_type::text ->> 'heartbeat_timeout', $2::jsonb ->> 'heartbeat_timeout')::float8)

-- :refused
WITH
\ir ../parts/named.sql
SELECT 'task:' || t.task_id AS id,
       CASE WHEN j.task_id IS NULL THEN 'there is no message ' || coalesce($4::jsonb ->> 'position', '?') || ' in its inbox, which holds ' || coalesce(cardinality(t.inbox), 0)
            WHEN j.digest IS DISTINCT FROM $4::jsonb ->> 'digest' THEN 'message ' || j.position || ' of its inbox is another one now: its digest is ' || j.digest
            WHEN j.verdict = 'decodable' THEN 'its type can decode message ' || j.position || ': dropped, what it says is lost. Say so (decodable) to drop it all the same'
            ELSE 'whether its type can decode message ' || j.position || ' is not known here. Say so (decodable) to drop it all the same' END AS why
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
