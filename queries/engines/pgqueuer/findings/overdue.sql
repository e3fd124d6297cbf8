-- Queued jobs that are due for long: the first ones of each entrypoint.
-- needs: queued_by_entrypoint, picked
-- Indexes: pgqueuer_ep_ea_idx (a loose index scan over 500 entrypoints), pgqueuer_pkey, pgqueuer_picked_heartbeat_idx.
WITH
\ir ../parts/entrypoints.sql
,
late AS (
  SELECT f.*
    FROM entrypoints e
   CROSS JOIN LATERAL (SELECT j.id, j.entrypoint, j.execute_after FROM :"schema".:"pgqueuer" j
                        WHERE :ids IS NULL AND j.status = 'queued' AND j.entrypoint = e.name
                          AND j.execute_after < now() - :overdue
                        ORDER BY j.entrypoint, j.execute_after LIMIT :limit) AS f
  UNION ALL
  SELECT j.id, j.entrypoint, j.execute_after FROM :"schema".:"pgqueuer" j
   WHERE j.status = 'queued' AND j.execute_after < now() - :overdue
     AND j.id = ANY (:job_keys)
),
\ir ../parts/alive.sql
(SELECT 'job:' || l.id AS id, extract(epoch FROM l.execute_after)::float8 AS since,
        jsonb_build_object('entrypoint', l.entrypoint, 'due', date_trunc('second', l.execute_after)::text, 'look', (SELECT v.text FROM alive v)) AS evidence
   FROM late l
  ORDER BY l.execute_after, l.id
  LIMIT :limit)
UNION ALL
SELECT NULL, NULL, NULL WHERE :ids IS NULL AND (SELECT count(*) FROM entrypoints) = 500
