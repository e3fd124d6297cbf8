-- Find tasks that the poller should have taken long ago, while orchestrators pick up nothing: none is running, or they
-- cannot work. no_longer_polled finds those that the poller ignores.
WITH RECURSIVE wanted AS (SELECT unnest(ARRAY['pending', 'waiting_for_dependencies', 'waiting_for_retry']) AS to_state),
\ir ../parts/late_tasks.sql
(SELECT 'task:' || l.task_uuid AS id, extract(epoch FROM l.since)::float8 AS since,
        jsonb_build_object('task', l.task_uuid, 'state', l.to_state, 'waited', date_trunc('second', now() - l.since)::text,
          'what', CASE WHEN l.to_state = 'pending' THEN 'It has been pending' ELSE l.ready || ' of its steps have been ready' END) AS evidence
   FROM late l
  WHERE NOT EXISTS (SELECT FROM picked)
\ir ../parts/page.sql
UNION ALL
SELECT NULL, NULL, NULL WHERE (SELECT more FROM more) OR (SELECT count(*) FROM waiting) = 500
