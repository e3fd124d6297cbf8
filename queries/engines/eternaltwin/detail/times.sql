-- title: Times, as recorded
-- kinds: task
-- Index: task_pkey.
SELECT t.created_at::text, (t.polled_at).time::text AS polled_at, (t.polled_at).salt::text AS salt,
       t.cpu_duration::text, t.poll_duration::text, t.revision::text
  FROM :"schema".task t
 WHERE t.task_id = substr(:id, 6)::uuid
