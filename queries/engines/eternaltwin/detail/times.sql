-- title: Times, as recorded
-- kinds: task
-- $1 id text: local id
-- Index: task_pkey.
SELECT t.created_at::text, (t.polled_at).time::text AS polled_at, (t.polled_at).salt::text AS salt,
       t.cpu_duration::text, t.poll_duration::text, t.revision::text
  FROM :"schema".task t
 WHERE t.task_id = substr($1::text, 6)::uuid
