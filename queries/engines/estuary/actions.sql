-- Sections of all actions whose files do not have them.
-- Index: tasks_pkey.

-- :lock
-- unchanged: the fields that a finding guards are the same; seen.version is its guard or the operator's version.
SELECT 'task:' || t.task_id AS id, t.xmin::text AS version,
       CASE WHEN seen.version LIKE 'same:%'
            THEN jsonb_build_object('due', t.wake_at <= clock_timestamp(), 'state', md5(t.inner_state::text), 'inbox', md5(t.inbox::text))
                 @> substr(seen.version, 6)::jsonb
            ELSE false END AS unchanged
  FROM :"schema".tasks t
  LEFT JOIN unnest(:ids, :versions) AS seen(id, version) ON seen.id = 'task:' || t.task_id
 WHERE t.task_id = ANY (:task_keys)
 ORDER BY t.task_id FOR NO KEY UPDATE OF t SKIP LOCKED
