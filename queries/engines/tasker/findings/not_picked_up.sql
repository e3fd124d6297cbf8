-- Find tasks that the poller should have taken long ago: pending tasks, and waiting tasks with a ready step. Orchestrators
-- poll every few seconds, so none is running or they cannot keep up.
-- kinds: task
-- $1 ids text[]: restrict to these local ids; NULL for all
-- $2 settings jsonb
-- $3 page int: maximum number of rows
-- $4 met_needs text[]
-- Indexes: those of the included parts; at most 500 waiting tasks. no_longer_polled finds those that the poller ignores.
WITH RECURSIVE wanted AS (SELECT unnest(ARRAY['pending', 'waiting_for_dependencies', 'waiting_for_retry']) AS to_state),
\ir ../parts/open_tasks.sql
, seen AS MATERIALIZED (
  SELECT o.task_uuid, o.to_state, o.at
    FROM open_tasks o
   WHERE o.at < now() - make_interval(secs => ($2::jsonb ->> 'not_picked_up')::float8)
     AND o.at >= CASE o.to_state WHEN 'waiting_for_retry' THEN now() - interval '30 minutes'
                                 WHEN 'waiting_for_dependencies' THEN now() - interval '60 minutes' ELSE '-infinity' END
),
waiting AS MATERIALIZED (SELECT s.* FROM seen s WHERE s.to_state <> 'pending' ORDER BY s.at, s.task_uuid LIMIT 500),
asked AS (SELECT w.task_uuid FROM waiting w),
\ir ../parts/readiness.sql
, late AS (
  SELECT s.task_uuid, s.to_state, s.at AS since, NULL::int8 AS ready FROM seen s WHERE s.to_state = 'pending'
  UNION ALL
  SELECT w.task_uuid, w.to_state, greatest(w.at, k.ready_at), k.ready
    FROM waiting w JOIN summed k ON k.task_uuid = w.task_uuid AND k.failed = 0 AND k.ready > 0
   WHERE k.ready_at < now() - make_interval(secs => ($2::jsonb ->> 'not_picked_up')::float8)
)
(SELECT 'task:' || l.task_uuid AS id, extract(epoch FROM l.since)::float8 AS since,
        jsonb_build_object('task', l.task_uuid, 'state', l.to_state, 'waited', date_trunc('second', now() - l.since)::text,
          'what', CASE WHEN l.to_state = 'pending' THEN 'It has been pending' ELSE l.ready || ' of its steps have been ready' END) AS evidence
   FROM late l
  ORDER BY l.since, l.task_uuid
  LIMIT $3::int)
UNION ALL
SELECT NULL, NULL, NULL WHERE EXISTS (SELECT FROM more) OR (SELECT count(*) FROM waiting) = 500
