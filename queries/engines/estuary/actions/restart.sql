-- Clear the state of idle tasks and put the first message of their type at the front of the inbox. The engine creates
-- such rows itself when a message reaches a task that has just ended. The other messages stay in the inbox.
-- Indexes: tasks_pkey; for the witnesses idx_tasks_ready_at.

-- :lock
SELECT 'task:' || t.task_id AS id, t.xmin::text AS version,
       encode(sha256(convert_to(concat_ws('|', coalesce(t.inner_state::text, 'NULL'), coalesce(t.inbox::text, 'NULL')), 'UTF8')), 'hex') AS steady
  FROM :"schema".tasks t WHERE t.task_id = ANY (:task_keys)
 ORDER BY t.task_id
   FOR NO KEY UPDATE SKIP LOCKED

-- :refused
WITH made AS MATERIALIZED (
  SELECT t.task_id, t.task_type, t.heartbeat, coalesce(cardinality(t.inbox), 0) + coalesce(cardinality(t.inbox_next), 0) AS messages, s.state, f.template, f.field, s.state ->> f.field AS value,
         CASE WHEN jsonb_typeof(:args -> 'first_message') <> 'null' THEN :args -> 'first_message'
              WHEN f.template = '' OR f.field IS NOT NULL AND coalesce(s.state ->> f.field, '') !~ '^[[:alnum:]:._-]+$' THEN NULL
              ELSE coalesce(replace(f.template, '{' || f.field || '}', s.state ->> f.field), f.template)::jsonb END AS message
    FROM :"schema".tasks t
   CROSS JOIN LATERAL (
         SELECT coalesce(regexp_replace(regexp_replace(t.inner_state::text, '\\(u[0-9a-fA-F]{4}|.)', '?', 'g'),
                                        '([0-9]{30})[0-9]+|([eE][+-]?[0-9]{2})[0-9]+', '\1\2', 'g'), 'null')::jsonb AS state) AS s
   CROSS JOIN LATERAL (
         SELECT :settings -> 'first' ->> t.task_type::text AS template,
                substring(:settings -> 'first' ->> t.task_type::text FROM '\{(\w+)\}') AS field) AS f
   WHERE t.task_id = ANY (:task_keys)
),
refusals AS (
  SELECT m.task_id,
         CASE WHEN m.heartbeat <> '0001-01-01T00:00:00Z'::timestamptz THEN 'the task is locked: a running poll would overwrite the state, and a dead executor may have left unfinished work'
              WHEN :settings -> 'guarded' ? m.task_type::text
                   AND NOT coalesce(jsonb_path_match(m.state, (:settings -> 'guarded' ->> m.task_type::text)::jsonpath, '{}', true), false)
              THEN 'the status is ' || coalesce(m.state ->> 'status', 'not recorded') || ', not Idle: unfinished work would be lost'
              WHEN :settings -> 'guarded' ? m.task_type::text AND m.messages > 0
              THEN 'the inbox has messages: a task in its initial state fails at them'
              WHEN :settings -> 'guarded' ? m.task_type::text AND (m.value IS NULL OR m.value IS DISTINCT FROM :args ->> 'confirm')
              THEN 'a ' || coalesce(:settings -> 'names' ->> m.task_type::text, 'type ' || m.task_type)
                   || ' requires the ' || coalesce(m.field, 'id') || ' of its state: set confirm'
              WHEN m.message IS NULL AND m.template IS NULL THEN 'the first message of this type is unknown: set first_message'
              WHEN m.message IS NULL AND m.template <> '' THEN 'the state has no ' || m.field || ' for the first message: set first_message'
              WHEN m.message IS NOT NULL AND :settings -> 'messages' ? m.task_type::text
                   AND NOT coalesce(jsonb_path_match(m.message, (:settings -> 'messages' ->> m.task_type::text)::jsonpath, '{}', true), false)
              THEN 'the task''s type cannot decode the first message; it accepts ' || coalesce(:settings -> 'takes' ->> m.task_type::text, 'other messages')
              WHEN m.message IS NOT NULL AND :settings -> 'fits' ? m.task_type::text
                   AND NOT coalesce(jsonb_path_match(m.message, (:settings -> 'fits' ->> m.task_type::text)::jsonpath, jsonb_build_object('state', NULL, 'messages', coalesce(m.messages, 0)), true), false)
              THEN 'in the initial state the executor does not accept this message' || CASE WHEN m.messages > 0 THEN ' together with the messages in the inbox' ELSE '' END END AS why
    FROM made m
)
SELECT 'task:' || s.task_id AS id, s.why, m.heartbeat <> '0001-01-01T00:00:00Z'::timestamptz AND isfinite(m.heartbeat) AS for_now
  FROM refusals s JOIN made m ON m.task_id = s.task_id WHERE s.why IS NOT NULL

-- :witnesses
WITH \ir ../parts/witnesses.sql
SELECT w.id, w.witness, w.verdict, w.detail, w.since FROM witnesses w

-- :change
UPDATE :"schema".tasks t
   SET inner_state = NULL, wake_at = now(),
       inbox = CASE WHEN m.message IS NULL THEN t.inbox
                    ELSE array_prepend(json_build_array('00:00:00:00:00:00:00:00'::text, m.message::text::json), t.inbox) END
  FROM unnest(:ids, :versions) AS seen(id, version)
  JOIN :"schema".tasks o ON o.task_id = substr(seen.id, 6)::macaddr8
 CROSS JOIN LATERAL (
         SELECT :settings -> 'first' ->> o.task_type::text AS template,
                substring(:settings -> 'first' ->> o.task_type::text FROM '\{(\w+)\}') AS field,
                coalesce(regexp_replace(regexp_replace(o.inner_state::text, '\\(u[0-9a-fA-F]{4}|.)', '?', 'g'),
                                        '([0-9]{30})[0-9]+|([eE][+-]?[0-9]{2})[0-9]+', '\1\2', 'g'), 'null')::jsonb AS state) AS f
 CROSS JOIN LATERAL (
         SELECT CASE WHEN jsonb_typeof(:args -> 'first_message') <> 'null' THEN :args -> 'first_message'
                     WHEN f.template <> ''
                     THEN coalesce(replace(f.template, '{' || f.field || '}', f.state ->> f.field), f.template)::jsonb END AS message) AS m
 WHERE t.task_id = o.task_id
   AND t.xmin::text = seen.version
   AND t.heartbeat = '0001-01-01T00:00:00Z'::timestamptz
RETURNING 'task:' || t.task_id AS id
