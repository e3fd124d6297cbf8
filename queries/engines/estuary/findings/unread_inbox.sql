-- Idle tasks with messages in their inbox but no wake_at, those created last first.
-- needs: task_scan
-- needs of ids: none
WITH \ir ../parts/suspended.sql
SELECT 'task:' || t.task_id AS id, NULL::float8 AS since,
       jsonb_build_object('messages', CASE cardinality(t.inbox) WHEN 1 THEN '1 message' ELSE cardinality(t.inbox) || ' messages' END) AS evidence
  FROM suspended t
 WHERE cardinality(t.inbox) > 0
 ORDER BY t.task_id DESC
 LIMIT :limit
