-- Make an idle task due now. A running poll overwrites wake_at at its end, so its task is refused for now.
-- Index: tasks_pkey.

-- :refused
SELECT 'task:' || t.task_id AS id, why.text AS why, t.heartbeat <> '0001-01-01T00:00:00Z' AND isfinite(t.heartbeat) AS for_now
  FROM :"schema".tasks t
 CROSS JOIN LATERAL (
       SELECT CASE WHEN t.heartbeat <> '0001-01-01T00:00:00Z' THEN 'the task is locked: a running poll sets wake_at when it ends. Send a message instead'
                   WHEN t.wake_at <= now() THEN 'the task is already due and waits for an executor'
                   WHEN NOT :regardless AND coalesce(cardinality(t.inbox), 0) = 0
                        AND coalesce(jsonb_path_match(coalesce(regexp_replace(regexp_replace(t.inner_state::text, '\\(u[0-9a-fA-F]{4}|.)', '?', 'g'),
                                                                              '([0-9]{30})[0-9]+|([eE][+-]?[0-9]{2})[0-9]+', '\1\2', 'g'), 'null')::jsonb,
                                                      (:settings -> 'bails' ->> t.task_type::text)::jsonpath, '{}', true), false)
                   THEN 'in this state the executor fails at a poll without a message. Set regardless to wake it' END AS text) AS why
 WHERE t.task_id = ANY (:task_keys) AND why.text IS NOT NULL

-- :change
UPDATE :"schema".tasks t SET wake_at = least(t.wake_at, now())
 WHERE t.task_id = ANY (:task_keys)
   AND ('task:' || t.task_id, t.xmin::text) IN (SELECT * FROM unnest(:ids, :versions))
   AND t.heartbeat = '0001-01-01T00:00:00Z' AND (t.wake_at <= now()) IS NOT TRUE
   AND NOT (NOT :regardless AND coalesce(cardinality(t.inbox), 0) = 0
            AND coalesce(jsonb_path_match(coalesce(regexp_replace(regexp_replace(t.inner_state::text, '\\(u[0-9a-fA-F]{4}|.)', '?', 'g'),
                                                                  '([0-9]{30})[0-9]+|([eE][+-]?[0-9]{2})[0-9]+', '\1\2', 'g'), 'null')::jsonb,
                                          (:settings -> 'bails' ->> t.task_type::text)::jsonpath, '{}', true), false))
RETURNING 'task:' || t.task_id AS id
