-- title: Recurring task
-- kinds: recurring
-- Index: the one on solid_queue_recurring_tasks(key).
SELECT t.schedule::text AS schedule, t.class_name::text AS class, t.command::text AS command, t.arguments, t.queue_name::text AS queue, t.priority,
       t.description, CASE WHEN t.static THEN 'the configuration' ELSE 'the application' END AS "defined by"
  FROM :"schema".solid_queue_recurring_tasks t
 WHERE t.key = substr(:id, 11)
