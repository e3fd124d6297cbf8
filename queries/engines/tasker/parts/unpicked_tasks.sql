-- Tasks that the poller should have taken long ago, while orchestrators pick up nothing: none is running, or they
-- cannot work. parts/unpolled_tasks.sql has those that the poller ignores.
wanted AS (SELECT unnest(ARRAY['pending', 'waiting_for_dependencies', 'waiting_for_retry']) AS to_state),
\ir open_tasks.sql
, \ir waiting_tasks.sql
, \ir late_tasks.sql
, picked AS MATERIALIZED (
  SELECT x.task_uuid
    FROM (SELECT x.task_uuid, x.to_state, x.created_at FROM :"schema".task_transitions x
           WHERE EXISTS (SELECT FROM late_tasks) ORDER BY x.task_transition_uuid DESC LIMIT 1000) AS x
   WHERE x.to_state IN ('initializing', 'enqueuing_steps') AND x.created_at > now() - :picked_up
),
nodes AS (SELECT 'task:' || l.task_uuid AS id, l.* FROM late_tasks l WHERE NOT EXISTS (SELECT FROM picked)),
more AS (SELECT EXISTS (SELECT FROM open_tasks o WHERE o.task_uuid IS NULL) AS more),
unread AS (SELECT NULL::text AS unread WHERE (SELECT count(*) FROM waiting_tasks) = 500)
