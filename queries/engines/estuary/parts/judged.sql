-- The verdict on each message of `elements` (task_type, element), which the including file has. safe: the text of a
-- message below 100 kB, made safe for jsonb, which rejects escapes and numbers that json accepts.
--   malformed   not [id, message] as the engine stores it: no poll can start
--   decodable   a known message of the type, or an EOF
--   unlisted    not a known message of the type; the list of known messages may be incomplete
--   unknown     the type has no list, or the message is too large to check
-- An id is parsed like the engine's models::Id: every ":" is removed, the rest is a hexadecimal number of at most 64
-- bits. A list of known messages is parsed once for each type, which takes 0.1 ms, and not for each message.
judged AS MATERIALIZED (
  WITH known_messages AS MATERIALIZED (
    SELECT t.task_type, (:settings -> 'messages' ->> t.task_type::text)::jsonpath AS known FROM (SELECT DISTINCT e.task_type FROM elements e) AS t
  ),
  texts AS MATERIALIZED (
    SELECT e.*,
           CASE WHEN octet_length(e.element::text) < 100000
                THEN regexp_replace(regexp_replace(e.element::text, '\\(u[0-9a-fA-F]{4}|.)', '?', 'g'),
                                    '([0-9]{30})[0-9]+|([eE][+-]?[0-9]{2})[0-9]+', '\1\2', 'g') END AS safe
      FROM elements e
  )
  SELECT e.*,
         left(encode(sha256(convert_to(coalesce(e.element::text, 'NULL'), 'UTF8')), 'hex'), 16) AS digest,
         CASE WHEN e.element IS NULL THEN 'malformed'
              WHEN e.safe IS NULL THEN 'unknown'
              WHEN jsonb_typeof(e.safe::jsonb) <> 'array' THEN 'malformed'
              WHEN jsonb_array_length(e.safe::jsonb) <> 2 OR jsonb_typeof(e.safe::jsonb -> 0) <> 'string' THEN 'malformed'
              WHEN replace(e.safe::jsonb ->> 0, ':', '') !~ '^[+]?0*[0-9a-fA-F]{1,16}$' THEN 'malformed'
              WHEN e.safe::jsonb -> 1 = 'null' THEN 'decodable'
              WHEN k.known IS NULL THEN 'unknown'
              WHEN jsonb_path_match(e.safe::jsonb -> 1, k.known, '{}', true) THEN 'decodable'
              ELSE 'unlisted' END AS verdict
    FROM texts e LEFT JOIN known_messages k ON k.task_type = e.task_type
)
