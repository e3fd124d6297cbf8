-- An idle task becomes due. A held one is left alone: its executor writes wake_at at the end of the poll, so whatever
-- stood there is lost; a message (send) reaches it.
-- $1 ids text[]: local ids
-- $2 versions text[]: for each id, the version that the operator saw
-- $3 args jsonb: regardless: also where a poll without a message fails
-- $4 limits jsonb: bails, by type
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
            THEN 'it is held: a poll under way writes its own wake_at when it ends. Send it a message instead'
            WHEN t.wake_at <= now() THEN 'it is due already: it waits for an executor'
            ELSE 'its executor fails when it is polled without a message in this state. Say so (regardless) to wake it all the same' END AS why,
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
