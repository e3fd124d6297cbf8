-- The first 200 messages of `given` (task_type, inbox), which the including file has, each cut at 2,000 characters.
shown AS (
  WITH elements AS MATERIALIZED (
    SELECT t.task_type, e.position, e.element
      FROM given t
     CROSS JOIN LATERAL unnest(t.inbox[array_lower(t.inbox, 1):array_lower(t.inbox, 1) + 199]) WITH ORDINALITY AS e(element, position)
     ORDER BY e.position
     LIMIT 200
  ),
\ir judged.sql
  , parted AS MATERIALIZED (
    SELECT j.*, coalesce(j.verdict <> 'malformed', false) AND j.safe IS NOT NULL AS formed FROM judged j
  )
  SELECT p.position, p.digest, CASE WHEN p.formed THEN p.safe::jsonb ->> 0 END AS sender,
         CASE WHEN NOT p.formed THEN NULL
              WHEN translate(p.safe::jsonb ->> 0, ':+', '') ~ '^0*$' THEN 'the engine'
              ELSE coalesce((SELECT coalesce(:settings -> 'names' ->> s.task_type::text, 'type ' || s.task_type) FROM :"schema".tasks s
                              WHERE s.task_id = lpad(right(translate(p.safe::jsonb ->> 0, ':+', ''), 16), 16, '0')::macaddr8), 'no such task') END AS "from",
         CASE WHEN NOT p.formed THEN left(coalesce(p.element::text, 'NULL'), 2000)
              WHEN p.safe::jsonb -> 1 = 'null' THEN 'EOF'
              ELSE left(substring(p.element::text FROM '^\s*\[\s*"[^"]*"\s*,\s*(.*?)\s*\]\s*$'), 2000) END AS message,
         CASE WHEN p.element IS NOT NULL AND p.safe IS NULL THEN 'too large to check'
              ELSE CASE p.verdict WHEN 'malformed' THEN 'undecodable: not [sender, message]' WHEN 'decodable' THEN 'decodable'
                                  WHEN 'unlisted' THEN 'unrecognised for this type' ELSE 'unknown type' END END AS check
    FROM parted p
)
