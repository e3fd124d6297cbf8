-- The messages of locked and ready tasks, with a verdict: of the given ids, or of the 5,000 tasks with the earliest wake_at.
-- Reads the first 100 messages of each task, without messages above 100 kB. The text is made safe for jsonb, because jsonb
-- rejects escapes and numbers that json accepts. failing: the last poll ended without a result; a live poll renews the
-- heartbeat before it is older than 75 % of the timeout. Indexes: idx_tasks_ready_at, the first rows; tasks_pkey.
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
verdicts AS (
  SELECT j.*, j.verdict = 'malformed' OR (j.verdict = 'unlisted' AND j.failing) AS undecodable,
         CASE j.verdict WHEN 'malformed' THEN 'is not [sender, message]: every poll fails before it starts'
                        ELSE 'is not a known message of ' || coalesce($2::jsonb -> 'names' ->> j.task_type::text, 'type ' || j.task_type)
                             || ', and the task''s last poll ended without a result' END AS why
    FROM judged j
)
