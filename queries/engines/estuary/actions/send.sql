-- A message goes through the engine's own function, which decides by the heartbeat whether it belongs into inbox or into
-- inbox_next. That function does nothing, without a word, where the task is gone; so the row is locked first. A missing
-- message would be an EOF there; here an EOF must be asked for by name.
-- $1 ids text[]: local ids
-- $2 versions text[]: for each id, the version that the operator saw
-- $3 args jsonb: message, or eof; sender; unchecked
-- $4 limits jsonb: messages, fits and takes, by type; names
-- Index: tasks_pkey.

-- :lock
SELECT 'task:' || t.task_id AS id, t.xmin::text AS version
  FROM :"schema".tasks t
 WHERE t.task_id = ANY (ARRAY(SELECT substr(i, 6)::macaddr8 FROM unnest($1::text[]) AS i))
 ORDER BY t.task_id
   FOR NO KEY UPDATE SKIP LOCKED

-- :refused
WITH asked AS MATERIALIZED (
  SELECT coalesce(($3::jsonb ->> 'eof')::bool, false) AS eof, $3::jsonb -> 'message' AS message,
         CASE WHEN coalesce(($3::jsonb ->> 'eof')::bool, false) THEN 'null' ELSE $3::jsonb -> 'message' END AS sent,
         coalesce(nullif($3::jsonb ->> 'sender', ''), '00:00:00:00:00:00:00:00') AS sender
),
judged AS (
  SELECT t.task_id, t.task_type, a.*, $4::jsonb -> 'messages' ? t.task_type::text AS known,
         a.sent = 'null' OR coalesce(jsonb_path_match(a.sent, ($4::jsonb -> 'messages' ->> t.task_type::text)::jsonpath, '{}', true), false) AS decodable,
         coalesce(jsonb_path_match(a.sent, ($4::jsonb -> 'fits' ->> t.task_type::text)::jsonpath,
                                   jsonb_build_object('state', s.state, 'messages', coalesce(cardinality(t.inbox), 0) + coalesce(cardinality(t.inbox_next), 0)), true), NOT $4::jsonb -> 'fits' ? t.task_type::text) AS fits
    FROM :"schema".tasks t
   CROSS JOIN asked a
   CROSS JOIN LATERAL (
         SELECT coalesce(regexp_replace(regexp_replace(t.inner_state::text, '\\(u[0-9a-fA-F]{4}|.)', '?', 'g'),
                                        '([0-9]{30})[0-9]+|([eE][+-]?[0-9]{2})[0-9]+', '\1\2', 'g'), 'null')::jsonb AS state) AS s
   WHERE t.task_id = ANY (ARRAY(SELECT substr(i, 6)::macaddr8 FROM unnest($1::text[]) AS i))
),
said AS (
  SELECT j.task_id,
         CASE WHEN j.eof AND j.message IS NOT NULL THEN 'either a message or an EOF, not both'
              WHEN NOT j.eof AND j.message IS NULL THEN 'no message was given'
              WHEN NOT j.eof AND j.message = 'null' THEN 'null is read as an EOF: ask for that by name (eof)'
              WHEN j.sender !~ '^([0-9a-fA-F]{2}[:.-]?){8}$' THEN 'the sender is not the id of a task'
              WHEN NOT j.known AND NOT coalesce(($3::jsonb ->> 'unchecked')::bool, false)
              THEN 'which messages type ' || j.task_type || ' takes is not known here. Say so (unchecked) to send it all the same'
              WHEN j.known AND NOT j.decodable
              THEN 'not a message of ' || coalesce($4::jsonb -> 'names' ->> j.task_type::text, 'type ' || j.task_type)
                   || coalesce(', which takes ' || ($4::jsonb -> 'takes' ->> j.task_type::text), '')
              WHEN NOT j.fits THEN 'its executor does not take this message in the state that the task is in: the poll would fail, or repeat at once without end' END AS why
    FROM judged j
)
SELECT 'task:' || s.task_id AS id, s.why FROM said s WHERE s.why IS NOT NULL

-- :rows
\ir ../parts/task_rows.sql

-- :change
WITH locked AS MATERIALIZED (
  SELECT t.task_id
    FROM :"schema".tasks t, unnest($1::text[], $2::text[]) AS seen(id, version)
   WHERE t.task_id = substr(seen.id, 6)::macaddr8
     AND t.xmin::text = seen.version
)
SELECT 'task:' || l.task_id AS id
  FROM locked l
 CROSS JOIN LATERAL :"schema".send_to_task(
         l.task_id, translate(coalesce(nullif($3::jsonb ->> 'sender', ''), '0000000000000000'), ':.-', '')::macaddr8,
         CASE WHEN NOT coalesce(($3::jsonb ->> 'eof')::bool, false) THEN ($3::jsonb -> 'message')::text::json END)
