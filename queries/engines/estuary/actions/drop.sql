-- Remove one message from the inbox; the other messages keep their order. Position and digest identify the message, so
-- that another message which moved to that position is not dropped. A message that the type can decode is dropped only
-- with decodable. A message above 100 kB is not checked.

-- :lock
-- unchanged: the fields that a finding guards are the same, including the message at the position in :args.
SELECT 'task:' || t.task_id AS id, t.xmin::text AS version,
       CASE WHEN seen.version LIKE 'same:%'
            THEN jsonb_build_object('state', md5(t.inner_state::text), 'inbox', md5(t.inbox::text), 'position', :args -> 'position',
                                    'digest', left(encode(sha256(convert_to(coalesce(t.inbox[array_lower(t.inbox, 1) - 1 + (:args ->> 'position')::int]::text, 'NULL'), 'UTF8')), 'hex'), 16))
                 @> substr(seen.version, 6)::jsonb
            ELSE false END AS unchanged
  FROM :"schema".tasks t
  LEFT JOIN unnest(:ids, :versions) AS seen(id, version) ON seen.id = 'task:' || t.task_id
 WHERE t.task_id = ANY (:task_keys)
 ORDER BY t.task_id FOR NO KEY UPDATE OF t SKIP LOCKED

-- :refused
WITH \ir ../parts/running.sql
SELECT r.id, r.why, r.for_now FROM running r

-- :refused
WITH elements AS MATERIALIZED (
  SELECT t.task_id, t.task_type, e.position, e.element
    FROM :"schema".tasks t
   CROSS JOIN LATERAL unnest(t.inbox) WITH ORDINALITY AS e(element, position)
   WHERE t.task_id = ANY (:task_keys)
     AND e.position = (:args ->> 'position')::int8
),
\ir ../parts/judged.sql
SELECT 'task:' || t.task_id AS id,
       CASE WHEN j.task_id IS NULL THEN 'message ' || coalesce(:args ->> 'position', '?') || ' does not exist: the inbox has ' || coalesce(cardinality(t.inbox), 0) || ' messages'
            WHEN j.digest IS DISTINCT FROM :args ->> 'digest' THEN 'message ' || j.position || ' of the inbox has another digest now: ' || j.digest
            WHEN j.verdict = 'decodable' THEN 'the task''s type can decode message ' || j.position || '. Set decodable to drop it'
            ELSE 'the task''s type may be able to decode message ' || j.position || '. Set decodable to drop it' END AS why
  FROM :"schema".tasks t LEFT JOIN judged j ON j.task_id = t.task_id
 WHERE t.task_id = ANY (:task_keys)
   AND NOT coalesce(j.digest = :args ->> 'digest'
                    AND (j.verdict IN ('malformed', 'unlisted') OR coalesce((:args ->> 'decodable')::bool, false)), false)

-- :change
WITH elements AS MATERIALIZED (
  SELECT t.task_id, t.task_type, e.position, e.element
    FROM :"schema".tasks t
   CROSS JOIN LATERAL unnest(t.inbox) WITH ORDINALITY AS e(element, position)
   WHERE t.task_id = ANY (:task_keys)
     AND e.position = (:args ->> 'position')::int8
),
\ir ../parts/judged.sql
UPDATE :"schema".tasks t
   SET inbox = (SELECT array_agg(e.element ORDER BY e.position) FROM unnest(t.inbox) WITH ORDINALITY AS e(element, position)
                 WHERE e.position <> j.position)
  FROM unnest(:ids, :versions) AS seen(id, version)
  JOIN judged j ON j.task_id = substr(seen.id, 6)::macaddr8
 WHERE t.task_id = j.task_id
   AND t.xmin::text = seen.version
   AND j.digest = :args ->> 'digest'
   AND (j.verdict IN ('malformed', 'unlisted') OR coalesce((:args ->> 'decodable')::bool, false))
   AND (t.heartbeat = '0001-01-01T00:00:00Z'::timestamptz
        OR t.heartbeat < now() - CASE WHEN (:args ->> 'early')::bool THEN 0.75 ELSE 1 END * :heartbeat_timeout_of_kind)
RETURNING 'task:' || t.task_id AS id
