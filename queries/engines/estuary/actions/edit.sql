-- Change messages of the inbox; their number and senders stay. The column holds json, so each message keeps the
-- spelling that the operator gives it, and the other messages keep theirs.
-- versions: for each id, the version that the operator saw, or the digest of the inbox that was edited
-- args: inbox: text, the edited inbox; seen, the digest of the inbox that was edited; unchecked; early

-- :lock
SELECT 'task:' || t.task_id AS id, t.xmin::text AS version,
       CASE WHEN seen.version LIKE 'same:%'
            THEN jsonb_build_object('document', encode(sha256(convert_to(t.inbox::text, 'UTF8')), 'hex')) @> substr(seen.version, 6)::jsonb
            ELSE false END AS unchanged,
       encode(sha256(convert_to(t.inbox::text, 'UTF8')), 'hex') AS steady
  FROM :"schema".tasks t
  LEFT JOIN unnest(:ids, :versions) AS seen(id, version) ON seen.id = 'task:' || t.task_id
 WHERE t.task_id = ANY (:task_keys)
 ORDER BY t.task_id FOR NO KEY UPDATE OF t SKIP LOCKED

-- :refused
WITH \ir ../parts/running.sql
SELECT r.id, r.why, r.for_now FROM running r

-- :refused
WITH \ir ../parts/edited.sql
, \ir ../parts/elements.sql
, \ir ../parts/judged.sql
, refusals AS (
  SELECT t.task_id,
         CASE WHEN a.text IS NULL THEN 'there is no edited text'
              WHEN encode(sha256(convert_to(t.inbox::text, 'UTF8')), 'hex') IS DISTINCT FROM a.seen THEN 'the inbox was changed since it was read'
              WHEN json_typeof(a.text::json) <> 'array' THEN 'the inbox is a list of messages, and the edited text is not'
              WHEN cardinality(t.inbox) <> a.n
              THEN 'the inbox has ' || cardinality(t.inbox) || ' messages, the edited text ' || a.n || '. Drop message and Send message change their number'
              ELSE (SELECT CASE WHEN j.verdict = 'malformed' THEN 'message ' || j.position || ' is not [sender, message] as the engine stores it'
                                WHEN j.verdict = 'unlisted'
                                THEN 'message ' || j.position || ' is not a known message of ' || coalesce(:settings -> 'names' ->> t.task_type::text, 'type ' || t.task_type)
                                     || coalesce(', which accepts ' || (:settings -> 'takes' ->> t.task_type::text), '') || '. Set unchecked to store it'
                                WHEN j.verdict = 'unknown' THEN 'message ' || j.position || ' is too large to check, or the messages of its type are unknown. Set unchecked to store it'
                                ELSE 'message ' || j.position || ' would have another sender' END
                      FROM judged j
                     CROSS JOIN LATERAL (SELECT substring(j.was::text FROM '^\s*\[\s*("[^"\\]*")\s*,') AS before, substring(j.element::text FROM '^\s*\[\s*("[^"\\]*")\s*,') AS after) AS s
                     WHERE j.task_id = t.task_id AND j.changed
                       AND (j.verdict = 'malformed' OR s.before <> s.after
                            OR (j.verdict IN ('unlisted', 'unknown') AND NOT coalesce((:args ->> 'unchecked')::bool, false)))
                     ORDER BY j.position LIMIT 1) END AS why
    FROM :"schema".tasks t CROSS JOIN edited a
   WHERE t.task_id = ANY (:task_keys)
)
SELECT 'task:' || r.task_id AS id, r.why FROM refusals r WHERE r.why IS NOT NULL

-- :change
WITH \ir ../parts/edited.sql
, \ir ../parts/elements.sql
, \ir ../parts/judged.sql
UPDATE :"schema".tasks t
   SET inbox = (SELECT array_agg(CASE WHEN j.was IS NULL AND j.element::text = 'null' THEN NULL ELSE j.element END ORDER BY j.position)
                  FROM judged j WHERE j.task_id = t.task_id),
       wake_at = LEAST(t.wake_at, now())
  FROM unnest(:ids, :versions) AS seen(id, version), edited a
 WHERE t.task_id = substr(seen.id, 6)::macaddr8
   AND t.xmin::text = seen.version
   AND encode(sha256(convert_to(t.inbox::text, 'UTF8')), 'hex') = a.seen
   AND cardinality(t.inbox) = a.n
   AND NOT EXISTS (SELECT FROM judged j WHERE j.task_id = t.task_id AND j.changed
                      AND (j.verdict = 'malformed' OR (j.verdict IN ('unlisted', 'unknown') AND NOT coalesce((:args ->> 'unchecked')::bool, false))))
   AND (t.heartbeat = '0001-01-01T00:00:00Z'::timestamptz
        OR t.heartbeat < now() - CASE WHEN (:args ->> 'early')::bool THEN 0.75 ELSE 1 END * :heartbeat_timeout_of_kind)
RETURNING 'task:' || t.task_id AS id

-- :document
SELECT 'task:' || t.task_id AS id, d.digest AS digest, 'json[]' AS stored, d.size AS size, CASE WHEN d.size <= :bytes THEN d.text END AS document,
       CASE WHEN coalesce(cardinality(t.inbox), 0) = 0
            THEN 'the inbox is empty. The state of a task belongs to its executor: Restart sets it back, and Send message tells the executor something' END AS why
  FROM :"schema".tasks t
 CROSS JOIN LATERAL (
       SELECT encode(sha256(convert_to(t.inbox::text, 'UTF8')), 'hex') AS digest, octet_length(j.text)::int8 AS size, j.text
         FROM (SELECT '[' || string_agg(coalesce(e.element::text, 'null'), ', ' ORDER BY e.position) || ']' AS text
                 FROM unnest(t.inbox) WITH ORDINALITY AS e(element, position)) AS j) AS d
 WHERE t.task_id = ANY (:task_keys)
