-- Running jobs without a heartbeat for longer than another worker needs to take them, whose worker lives: it beats for
-- other jobs. Of the longest silent ones, 5,000 are looked at.
-- needs: picked
-- needs of ids: none
-- Indexes: pgqueuer_picked_heartbeat_idx, pgqueuer_pkey.
WITH \ir ../parts/beating.sql
, silent AS MATERIALIZED (
  (SELECT o.id, o.heartbeat, o.queue_manager_id, o.entrypoint FROM :"schema".:"pgqueuer" o
    WHERE :ids IS NULL AND o.status = 'picked' AND o.heartbeat < now() - :not_retaken
    ORDER BY o.heartbeat LIMIT 5000)
  UNION ALL
  SELECT o.id, o.heartbeat, o.queue_manager_id, o.entrypoint FROM :"schema".:"pgqueuer" o
   WHERE o.status = 'picked' AND o.heartbeat < now() - :not_retaken
     AND o.id = ANY (:job_keys)
)
(SELECT 'job:' || j.id AS id, extract(epoch FROM j.heartbeat)::float8 AS since,
        jsonb_build_object('worker', j.queue_manager_id::text, 'heartbeat', date_trunc('second', j.heartbeat)::text,
                           'entrypoint', j.entrypoint) AS evidence
   FROM silent j
  WHERE j.queue_manager_id IN (SELECT b.queue_manager_id FROM beating b)
  ORDER BY j.heartbeat, j.id
  LIMIT :limit)
UNION ALL
SELECT NULL, NULL, NULL WHERE :ids IS NULL AND (SELECT count(*) FROM silent) = 5000
