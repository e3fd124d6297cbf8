-- Running jobs without a heartbeat for longer than another worker needs to take them, and whether their worker beats for others.
-- needs: picked
-- needs of ids: none
-- Indexes: pgqueuer_picked_heartbeat_idx, pgqueuer_pkey.
WITH beating AS MATERIALIZED (
  SELECT o.queue_manager_id FROM :"schema".:"pgqueuer" o
   WHERE o.status = 'picked' AND o.heartbeat >= now() - :heartbeat_timeout ORDER BY o.heartbeat DESC LIMIT 1000
)
SELECT 'job:' || j.id AS id, extract(epoch FROM j.heartbeat)::float8 AS since,
       jsonb_build_object('worker', coalesce(j.queue_manager_id::text, '?'), 'heartbeat', date_trunc('second', j.heartbeat)::text,
                          'entrypoint', j.entrypoint,
                          'others', CASE WHEN j.queue_manager_id IN (SELECT b.queue_manager_id FROM beating b) THEN ', but beats for other jobs' ELSE '' END) AS evidence
  FROM ((SELECT o.id, o.heartbeat, o.queue_manager_id, o.entrypoint FROM :"schema".:"pgqueuer" o
          WHERE :ids IS NULL AND o.status = 'picked' AND o.heartbeat < now() - :not_retaken
          ORDER BY o.heartbeat LIMIT :limit)
        UNION ALL
        SELECT o.id, o.heartbeat, o.queue_manager_id, o.entrypoint FROM :"schema".:"pgqueuer" o
         WHERE o.status = 'picked' AND o.heartbeat < now() - :not_retaken
           AND o.id = ANY (:job_keys)) AS j
 ORDER BY j.heartbeat, j.id
 LIMIT :limit
