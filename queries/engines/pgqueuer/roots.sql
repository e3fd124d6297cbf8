-- Entrypoints by name: the first 500 with queued jobs, those of the first 1,000 jobs that run, and those of the newest
-- 1,000 held failures if an index finds them. Then schedules by number.
-- needs: queued_by_entrypoint, picked
-- cursor: e|name or s|number of the last row of the previous page, or NULL
-- Indexes: pgqueuer_ep_ea_idx, pgqueuer_picked_heartbeat_idx, one on (updated, id) of failed jobs, pgqueuer_schedules_pkey.
WITH \ir parts/entrypoints.sql
, names AS MATERIALIZED (
  SELECT e.name FROM entrypoints e
  UNION
  SELECT p.entrypoint FROM (SELECT j.entrypoint FROM :"schema".:"pgqueuer" j WHERE j.status = 'picked' ORDER BY j.heartbeat LIMIT 1000) AS p
  UNION
  SELECT f.entrypoint FROM (SELECT j.entrypoint FROM :"schema".:"pgqueuer" j
                             WHERE 'failed' = ANY (:met_needs) AND j.status = 'failed' ORDER BY j.updated DESC LIMIT 1000) AS f
)
(SELECT 'entrypoint:' || n.name AS id, 'e|' || n.name AS cursor
   FROM names n
  WHERE :cursor IS NULL OR (:cursor LIKE 'e|%' AND n.name > substr(:cursor, 3))
  ORDER BY n.name LIMIT :limit)
UNION ALL
(SELECT 'schedule:' || s.id, 's|' || s.id
   FROM :"schema".:"pgqueuer_schedules" s
  WHERE s.id > CASE WHEN :cursor LIKE 's|%' THEN substr(:cursor, 3)::int8 ELSE -1 END
  ORDER BY s.id LIMIT :limit)
LIMIT :limit
