-- Idle tasks with messages in their inbox but no wake_at.
-- $1 ids text[]: local ids to check, or NULL for all
-- $2 page int: maximum number of rows
-- needs: task_scan
-- needs of ids: none
SELECT 'task:' || t.task_id AS id, NULL::float8 AS since,
       jsonb_build_object('messages', CASE cardinality(t.inbox) WHEN 1 THEN '1 message' ELSE cardinality(t.inbox) || ' messages' END) AS evidence
  FROM :"schema".tasks t
 WHERE ($1::text[] IS NULL OR t.task_id = ANY (ARRAY(SELECT substr(i, 6)::macaddr8 FROM unnest($1::text[]) i WHERE i LIKE 'task:%')))
   AND t.wake_at IS NULL
   AND t.heartbeat = '0001-01-01T00:00:00Z'::timestamptz
   AND cardinality(t.inbox) > 0
 ORDER BY t.task_id
 LIMIT $2::int
