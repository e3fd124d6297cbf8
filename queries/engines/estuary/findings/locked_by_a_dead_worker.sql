-- Tasks with an expired heartbeat that are not due: no executor takes them. Usually caused by a manual change.
-- $1 ids text[]: local ids to check, or NULL for all
-- $2 settings jsonb: heartbeat_timeout by type; names
-- $3 page int: maximum number of rows
-- Reads the 5,000 tasks with the oldest heartbeat.
-- needs: task_by_heartbeat
-- needs of ids: none
WITH held AS MATERIALIZED (
  (SELECT task_id, task_type, wake_at, heartbeat FROM :"schema".tasks
    WHERE $1::text[] IS NULL AND heartbeat <> '0001-01-01T00:00:00Z'::timestamptz ORDER BY heartbeat LIMIT 5000)
  UNION ALL
  (SELECT task_id, task_type, wake_at, heartbeat FROM :"schema".tasks WHERE task_id = ANY (ARRAY(SELECT substr(i, 6)::macaddr8 FROM unnest($1::text[]) i WHERE i LIKE 'task:%')))
)
(SELECT 'task:' || t.task_id AS id, CASE WHEN isfinite(t.heartbeat) THEN extract(epoch FROM t.heartbeat)::float8 END AS since,
        jsonb_build_object('heartbeat', date_trunc('second', t.heartbeat)::timestamp::text,
                           'due', coalesce('due only at ' || t.wake_at, 'never due'),
                           'type', coalesce($2::jsonb -> 'names' ->> t.task_type::text, 'type ' || t.task_type)) AS evidence
   FROM held t
  WHERE t.heartbeat <> '0001-01-01T00:00:00Z'::timestamptz
    AND t.heartbeat <= now() - make_interval(secs => coalesce($2::jsonb -> t.task_type::text ->> 'heartbeat_timeout', $2::jsonb ->> 'heartbeat_timeout')::float8)
    AND (t.wake_at > now() OR t.wake_at IS NULL)
  ORDER BY t.heartbeat, t.task_id
  LIMIT $3::int)
UNION ALL
SELECT NULL, NULL, NULL WHERE $1::text[] IS NULL AND (SELECT count(*) FROM held) = 5000
