-- The messages of held or ready tasks, and what is known of them: of those asked for, or of the 5,000 due for longest. Of
-- each the first 100 messages are looked at, those above 100 kB not at all. The text is made safe for jsonb first, which
-- refuses escapes and numbers that json takes. failing: its last poll ended without a result, because a live one renews
-- its heartbeat before it is three quarters of the timeout old. Indexes: idx_tasks_ready_at from its left end; tasks_pkey.
due AS MATERIALIZED (
  (SELECT task_id, task_type, wake_at, heartbeat, inbox FROM :"schema".tasks WHERE $1::text[] IS NULL AND wake_at <= now() ORDER BY wake_at LIMIT 5000)
  UNION ALL
  (SELECT task_id, task_type, wake_at, heartbeat, inbox FROM :"schema".tasks WHERE task_id = ANY (ARRAY(SELECT substr(i, 6)::macaddr8 FROM unnest($1::text[]) i WHERE i LIKE 'task:%')))
),
elements AS MATERIALIZED (
  SELECT t.task_id, t.task_type, t.wake_at, e.position, e.element, left(e.element::text, 200) AS shown,
         t.heartbeat <> '0001-01-01T00:00:00Z'::timestamptz AND isfinite(t.heartbeat)
           AND t.heartbeat <= now() - 0.75 * make_interval(secs => coalesce($2::jsonb -> t.task_type::text ->> 'heartbeat_timeout', $2::jsonb ->> 'heartbeat_timeout')::float8) AS failing,
         regexp_replace(regexp_replace(e.element::text, '\\(u[0-9a-fA-F]{4}|.)', '?', 'g'),
                        '([0-9]{30})[0-9]+|([eE][+-]?[0-9]{2})[0-9]+', '\1\2', 'g') AS safe
    FROM due t
   CROSS JOIN LATERAL unnest(t.inbox[array_lower(t.inbox, 1):array_lower(t.inbox, 1) + 99]) WITH ORDINALITY AS e(element, position)
   WHERE cardinality(t.inbox) > 0
     AND e.position <= 100
     AND coalesce(octet_length(e.element::text), 0) < 100000
),
\ir judged.sql
,
told AS (
  SELECT j.*, j.verdict = 'malformed' OR (j.verdict = 'unlisted' AND j.failing) AS undecodable,
         CASE j.verdict WHEN 'malformed' THEN 'is not [sender, message]: every poll fails before it begins'
                        ELSE 'is none of those that are known of ' || coalesce($2::jsonb -> 'names' ->> j.task_type::text, 'type ' || j.task_type)
                             || ', and its last poll ended without a result' END AS why
    FROM judged j
)
