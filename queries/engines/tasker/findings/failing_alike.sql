-- Steps that wait for another attempt after the same error, if many do, and at least half of those that wait for one. Errors
-- are compared without words that contain a digit, such as ids. A step is compared with the others also if it alone is asked for.
-- Indexes: idx_workflow_steps_active_operations backwards, the newest 5,000 unprocessed steps; the state_lookup of these.
WITH candidates AS MATERIALIZED (
  SELECT s.workflow_step_uuid FROM :"schema".workflow_steps s WHERE s.processed = false ORDER BY s.workflow_step_uuid DESC LIMIT 5000
),
retrying AS MATERIALIZED (
  SELECT x.workflow_step_uuid, x.created_at AS at FROM :"schema".workflow_step_transitions x
   WHERE x.most_recent AND x.to_state = 'waiting_for_retry' AND x.workflow_step_uuid = ANY (ARRAY(SELECT c.workflow_step_uuid FROM candidates c))
),
folded AS MATERIALIZED (
  SELECT s.workflow_step_uuid, r.at, left(s.results #>> '{error,message}', 300) AS error,
         left(regexp_replace(s.results #>> '{error,message}', '[[:alnum:]_-]*[0-9][[:alnum:]_-]*', '', 'g'), 200) AS alike
    FROM :"schema".workflow_steps s JOIN retrying r ON r.workflow_step_uuid = s.workflow_step_uuid
   WHERE s.workflow_step_uuid = ANY (ARRAY(SELECT q.workflow_step_uuid FROM retrying q))
),
alike AS (
  SELECT f.alike FROM folded f WHERE f.alike <> ''
   GROUP BY f.alike HAVING count(*) >= :failing_alike::int AND count(*) * 2 >= (SELECT count(*) FROM folded)
)
(SELECT 'step:' || f.workflow_step_uuid AS id, extract(epoch FROM f.at)::float8 AS since,
        jsonb_build_object('error', f.error, 'failed', date_trunc('second', f.at)::text) AS evidence
   FROM folded f
  WHERE f.alike IN (SELECT a.alike FROM alike a)
    AND (:ids IS NULL OR f.workflow_step_uuid = ANY (ARRAY(SELECT substr(i, 6)::uuid FROM unnest(:ids) AS i WHERE i LIKE 'step:%')))
  ORDER BY since, id
  LIMIT :page)
UNION ALL
SELECT NULL, NULL, NULL WHERE :ids IS NULL AND (SELECT count(*) FROM candidates) = 5000
