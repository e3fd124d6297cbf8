-- The verdict on each message of the CTE elements (task_type, element; safe: its text, made safe for jsonb):
--   malformed   not [id, message] as the engine stores it: no poll can start
--   decodable   a known message of the type, or an EOF
--   unlisted    not a known message of the type; the list of known messages may be incomplete
--   unknown     the type has no list, or the message is too large to check
-- An id is parsed like the engine's models::Id: every ":" is removed, the rest is a hexadecimal number of at most 64
-- bits. A list of known messages is parsed once for each type, which takes 0.1 ms, and not for each message.
known_messages AS MATERIALIZED (
  SELECT t.task_type, (:settings -> 'messages' ->> t.task_type::text)::jsonpath AS known FROM (SELECT DISTINCT e.task_type FROM elements e) AS t
),
judged AS MATERIALIZED (
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
    FROM elements e LEFT JOIN known_messages k ON k.task_type = e.task_type
)
