-- Sections of all actions whose files do not have them.
-- Index: tasks_pkey.

-- :lock
-- unchanged: the fields that a finding guards are the same.
SELECT 'task:' || t.task_id AS id, t.xmin::text AS version,
       CASE WHEN seen.version LIKE 'same:%'
            THEN jsonb_build_object('due', t.wake_at <= clock_timestamp(), 'state', md5(t.inner_state::text), 'inbox', md5(t.inbox::text))
                 @> substr(seen.version, 6)::jsonb
            ELSE false END AS unchanged
\ir parts/locked.sql
