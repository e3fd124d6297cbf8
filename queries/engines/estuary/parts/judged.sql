-- What is known of each message of the CTE elements (task_type, element; safe: its text, made safe for jsonb):
--   malformed   no [id, message] as the engine stores it: no poll can begin
--   decodable   one that the type is known to decode; an EOF always is
--   unlisted    none of those known of the type. The list can only be too short
--   unknown     nothing is known of the type, or the message is too large to be looked at
-- An id is what the engine's models::Id parses: ":" taken out, a number of at most 64 bits in base 16.
-- $2 limits jsonb: messages, by type
judged AS MATERIALIZED (
  SELECT e.*,
         left(encode(sha256(convert_to(coalesce(e.element::text, 'NULL'), 'UTF8')), 'hex'), 16) AS digest,
         CASE WHEN e.element IS NULL THEN 'malformed'
              WHEN e.safe IS NULL THEN 'unknown'
              WHEN jsonb_typeof(e.safe::jsonb) <> 'array' THEN 'malformed'
              WHEN jsonb_array_length(e.safe::jsonb) <> 2 OR jsonb_typeof(e.safe::jsonb -> 0) <> 'string' THEN 'malformed'
              WHEN replace(e.safe::jsonb ->> 0, ':', '') !~ '^[+]?0*[0-9a-fA-F]{1,16}$' THEN 'malformed'
              WHEN e.safe::jsonb -> 1 = 'null' THEN 'decodable'
              WHEN NOT $2::jsonb -> 'messages' ? e.task_type::text THEN 'unknown'
              WHEN jsonb_path_match(e.safe::jsonb -> 1, ($2::jsonb -> 'messages' ->> e.task_type::text)::jsonpath, '{}', true) THEN 'decodable'
              ELSE 'unlisted' END AS verdict
    FROM elements e
)
