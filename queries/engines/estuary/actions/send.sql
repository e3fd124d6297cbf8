-- Send a message with the engine's function, which chooses inbox or inbox_next by the heartbeat. The function silently
-- does nothing if the task does not exist, so the row is locked first. The function sends an EOF if the message is
-- NULL; here an EOF requires the argument eof.

-- :refused
WITH asked AS MATERIALIZED (
  SELECT coalesce((:args ->> 'eof')::bool, false) AS eof, :args -> 'message' AS message,
         CASE WHEN coalesce((:args ->> 'eof')::bool, false) THEN 'null' ELSE :args -> 'message' END AS sent,
         coalesce(nullif(:args ->> 'sender', ''), '00:00:00:00:00:00:00:00') AS sender
),
judged AS (
  SELECT t.task_id, t.task_type, a.*, :settings -> 'messages' ? t.task_type::text AS known,
         a.sent = 'null' OR coalesce(jsonb_path_match(a.sent, (:settings -> 'messages' ->> t.task_type::text)::jsonpath, '{}', true), false) AS decodable,
         coalesce(jsonb_path_match(a.sent, (:settings -> 'fits' ->> t.task_type::text)::jsonpath,
                                   jsonb_build_object('state', s.state, 'messages', coalesce(cardinality(t.inbox), 0) + coalesce(cardinality(t.inbox_next), 0)), true), NOT :settings -> 'fits' ? t.task_type::text) AS fits
    FROM :"schema".tasks t
   CROSS JOIN asked a
   CROSS JOIN LATERAL (
         SELECT coalesce(regexp_replace(regexp_replace(t.inner_state::text, '\\(u[0-9a-fA-F]{4}|.)', '?', 'g'),
                                        '([0-9]{30})[0-9]+|([eE][+-]?[0-9]{2})[0-9]+', '\1\2', 'g'), 'null')::jsonb AS state) AS s
   WHERE t.task_id = ANY (:task_keys)
),
refusals AS (
  SELECT j.task_id,
         CASE WHEN j.eof AND j.message IS NOT NULL THEN 'message and eof exclude each other: set one of them'
              WHEN NOT j.eof AND j.message IS NULL THEN 'message is missing'
              WHEN NOT j.eof AND j.message = 'null' THEN 'the engine reads null as an EOF: set eof to send one'
              WHEN j.sender !~ '^([0-9a-fA-F]{2}[:.-]?){8}$' THEN 'sender is not a task id'
              WHEN NOT j.known AND NOT coalesce((:args ->> 'unchecked')::bool, false)
              THEN 'the messages of type ' || j.task_type || ' are unknown. Set unchecked to send it'
              WHEN j.known AND NOT j.decodable
              THEN 'not a message of ' || coalesce(:settings -> 'names' ->> j.task_type::text, 'type ' || j.task_type)
                   || coalesce(', which accepts ' || (:settings -> 'takes' ->> j.task_type::text), '')
              WHEN NOT j.fits THEN 'the executor does not accept this message in the task''s state: the poll would fail, or repeat without end' END AS why
    FROM judged j
)
SELECT 'task:' || s.task_id AS id, s.why FROM refusals s WHERE s.why IS NOT NULL

-- :change
WITH locked AS MATERIALIZED (
  SELECT t.task_id
    FROM :"schema".tasks t, unnest(:ids, :versions) AS seen(id, version)
   WHERE t.task_id = substr(seen.id, 6)::macaddr8
     AND t.xmin::text = seen.version
)
SELECT 'task:' || l.task_id AS id
  FROM locked l
 CROSS JOIN LATERAL :"schema".send_to_task(
         l.task_id, translate(coalesce(nullif(:args ->> 'sender', ''), '0000000000000000'), ':.-', '')::macaddr8,
         CASE WHEN NOT coalesce((:args ->> 'eof')::bool, false) THEN (:args -> 'message')::text::json END)
