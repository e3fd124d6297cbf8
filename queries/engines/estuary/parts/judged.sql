-- The verdict on each message of the CTE elements (task_type, element; safe: its text, made safe for jsonb):
--   malformed   not [id, message] as the engine stores it: no poll can start
--   decodable   a known message of the type, or an EOF
--   unlisted    not a known message of the type; the list of known messages may be incomplete
--   unknown     the type has no list, or the message is too large to check
-- An id is parsed like the engine's models::Id: every ":" is removed, the rest is a hexadecimal number of at most 64 bits.
judged AS MATERIALIZED (
  SELECT e.*,
         left(encode(sha256(convert_to(coalesce(e.element::text, 'NULL'), 'UTF8')), 'hex'), 16) AS digest,
         CASE WHEN e.element IS NULL THEN 'malformed'
              WHEN e.safe IS NULL THEN 'unknown'
              WHEN jsonb_typeof(e.safe::jsonb) <> 'array' THEN 'malformed'
              WHEN jsonb_array_length(e.safe::jsonb) <> 2 OR jsonb_typeof(e.safe::jsonb -> 0) <> 'string' THEN 'malformed'
              WHEN replace(e.safe::jsonb ->> 0, ':', '') !~ '^[+]?0*[0-9a-fA-F]{1,16}$' THEN 'malformed'
              WHEN e.safe::jsonb -> 1 = 'null' THEN 'decodable'
              WHEN NOT :settings -> 'messages' ? e.task_type::text THEN 'unknown'
              WHEN jsonb_path_match(e.safe::jsonb -> 1, (:settings -> 'messages' ->> e.task_type::text)::jsonpath, '{}', true) THEN 'decodable'
              ELSE 'unlisted' END AS verdict
    FROM elements e
)
