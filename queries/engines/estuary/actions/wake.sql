-- Make idle tasks due. Locked tasks are refused: the executor overwrites wake_at at the end of its poll. Use send for them.
-- $1 ids text[]: local ids
-- $2 versions text[]: for each id, the version that the operator saw
-- $3 args jsonb: regardless: also if a poll without a message fails
-- $4 settings jsonb: bails, by type
-- Index: tasks_pkey.

-- :lock
SELECT 'task:' || t.task_id AS id, t.xmin::text AS version
  FROM :"schema".tasks t
 WHERE t.task_id = ANY (ARRAY(SELECT substr(i, 6)::macaddr8 FROM unnest($1::text[]) AS i))
 ORDER BY t.task_id
   FOR NO KEY UPDATE SKIP LOCKED

-- :refused
SELECT 'task:' || t.task_id AS id,
       CASE WHEN t.heartbeat <> '0001-01-01T00:00:00Z'::timestamptz
            THEN 'the task is locked: a running poll sets wake_at when it ends. Send a message instead'
            WHEN t.wake_at <= now() THEN 'the task is already due and waits for an executor'
            ELSE 'in this state the executor fails at a poll without a message. Set regardless to wake it' END AS why,
       t.heartbeat <> '0001-01-01T00:00:00Z'::timestamptz AND isfinite(t.heartbeat) AS for_now
  FROM :"schema".tasks t
 WHERE t.task_id = ANY (ARRAY(SELECT substr(i, 6)::macaddr8 FROM unnest($1::text[]) AS i))
   AND (t.heartbeat <> '0001-01-01T00:00:00Z'::timestamptz
        OR t.wake_at <= now()
        OR (NOT coalesce(($3::jsonb ->> 'regardless')::bool, false)
            AND coalesce(cardinality(t.inbox), 0) = 0
            AND coalesce(jsonb_path_match(coalesce(regexp_replace(regexp_replace(t.inner_state::text, '\\(u[0-9a-fA-F]{4}|.)', '?', 'g'),
                                                                  '([0-9]{30})[0-9]+|([eE][+-]?[0-9]{2})[0-9]+', '\1\2', 'g'), 'null')::jsonb,
                                          ($4::jsonb -> 'bails' ->> t.task_type::text)::jsonpath, '{}', true), false)))

-- :rows
\ir ../parts/task_rows.sql

-- :change
UPDATE :"schema".tasks t SET wake_at = least(t.wake_at, now())
  FROM unnest($1::text[], $2::text[]) AS seen(id, version)
 WHERE t.task_id = substr(seen.id, 6)::macaddr8
   AND t.xmin::text = seen.version
   AND t.heartbeat = '0001-01-01T00:00:00Z'::timestamptz
RETURNING 'task:' || t.task_id AS id
