-- The messages of held or ready tasks, and whether their type can take them: those asked for, or the longest due 5,000. Of
-- each the first 100 messages are looked at, those above 100 kB not at all. The text is made safe for jsonb first, which
-- refuses escapes and numbers that json takes. Indexes: idx_tasks_ready_at from its left end; tasks_pkey.
due AS MATERIALIZED (
  (SELECT task_id, task_type, wake_at, inbox FROM :"schema".tasks WHERE $1::text[] IS NULL AND wake_at <= now() ORDER BY wake_at LIMIT 5000)
  UNION ALL
  (SELECT task_id, task_type, wake_at, inbox FROM :"schema".tasks WHERE task_id = ANY (ARRAY(SELECT substr(i, 6)::macaddr8 FROM unnest($1::text[]) i WHERE i LIKE 'task:%')))
),
elements AS MATERIALIZED (
  SELECT t.task_id, t.task_type, t.wake_at, e.position, left(e.element::text, 200) AS shown,
         regexp_replace(regexp_replace(e.element::text, '\\(u[0-9a-fA-F]{4}|.)', '?', 'g'),
                        '([0-9]{30})[0-9]+|([eE][+-]?[0-9]{2})[0-9]+', '\1\2', 'g') AS safe
    FROM due t
   CROSS JOIN LATERAL unnest(t.inbox[array_lower(t.inbox, 1):array_lower(t.inbox, 1) + 99]) WITH ORDINALITY AS e(element, position)
   WHERE cardinality(t.inbox) > 0
     AND e.position <= 100
     AND coalesce(octet_length(e.element::text), 0) < 100000
),
told AS (
  SELECT e.*, CASE WHEN e.safe IS NULL THEN false
                   WHEN jsonb_typeof(e.safe::jsonb) <> 'array' THEN false
                   WHEN jsonb_array_length(e.safe::jsonb) <> 2 THEN false
                   WHEN coalesce(e.safe::jsonb ->> 0, '') !~ '^([0-9a-fA-F]{2}[:.-]?){8}$' THEN false
                   WHEN $2::jsonb -> 'messages' ? e.task_type::text
                   THEN coalesce(jsonb_path_match(e.safe::jsonb -> 1, ($2::jsonb -> 'messages' ->> e.task_type::text)::jsonpath, '{}', true), false)
                   ELSE true END AS fine
    FROM elements e
)
