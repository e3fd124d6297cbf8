-- :rows
-- The task with its transitions; large values as digests. Both are locked, so all differences are from this transaction.
SELECT 'task:' || t.task_uuid AS id, 'tasks' AS "table", t.task_uuid::text AS key, t.ctid::text AS place,
       to_jsonb(t) - 'context' || jsonb_build_object('context', octet_length(t.context::text) || ' bytes, md5 ' || md5(t.context::text)) AS row
  FROM :"schema".tasks t
 WHERE t.task_uuid = ANY (:task_keys)
UNION ALL
SELECT 'task:' || x.task_uuid, 'task_transitions', x.task_transition_uuid::text, x.ctid::text, to_jsonb(x)
  FROM :"schema".task_transitions x
 WHERE x.task_uuid = ANY (:task_keys)
