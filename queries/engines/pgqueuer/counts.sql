-- Number of jobs in each phase, with the precision of each number. The row of a job that ended is deleted.
-- needs: queued, picked
-- met_needs: failed jobs need an index of their own
-- Indexes: pgqueuer_priority_id_id1_idx, pgqueuer_picked_heartbeat_idx, one on (updated, id) of failed jobs: 10,000 rows of each.
WITH queued AS MATERIALIZED (
  SELECT CASE WHEN j.execute_after > now() THEN 'scheduled' ELSE 'ready' END AS phase
    FROM :"schema".:"pgqueuer" j WHERE j.status = 'queued' ORDER BY j.priority DESC, j.id LIMIT 10001
),
picked AS MATERIALIZED (
  SELECT FROM :"schema".:"pgqueuer" j WHERE j.status = 'picked' ORDER BY j.heartbeat LIMIT 10001
),
failed AS MATERIALIZED (
  SELECT FROM :"schema".:"pgqueuer" j WHERE 'failed' = ANY (:met_needs) AND j.status = 'failed' ORDER BY j.updated LIMIT 10001
)
SELECT 'queued' AS status, p.phase, least(count(q.phase), 10000) AS n, CASE WHEN (SELECT count(*) FROM queued) > 10000 THEN 'capped' ELSE 'exact' END AS precision
  FROM unnest(ARRAY['ready', 'scheduled']) AS p(phase) LEFT JOIN queued q ON q.phase = p.phase
 GROUP BY p.phase
UNION ALL
SELECT 'picked', NULL, least(count(*), 10000), CASE WHEN count(*) > 10000 THEN 'capped' ELSE 'exact' END
  FROM picked
UNION ALL
SELECT 'failed', NULL, CASE WHEN 'failed' = ANY (:met_needs) THEN least(count(*), 10000) END,
       CASE WHEN NOT 'failed' = ANY (:met_needs) THEN 'unknown' WHEN count(*) > 10000 THEN 'capped' ELSE 'exact' END
  FROM failed
UNION ALL
SELECT 'successful', NULL, NULL, 'unknown'
