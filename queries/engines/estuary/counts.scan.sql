-- Number of tasks in each phase.
-- $1 settings jsonb: heartbeat_timeout by type
-- needs: task_scan
WITH seen AS (
  SELECT CASE WHEN t.heartbeat = '0001-01-01T00:00:00Z'::timestamptz
              THEN CASE WHEN t.wake_at IS NULL THEN 'blocked' WHEN t.wake_at <= now() THEN 'ready' ELSE 'scheduled' END
              WHEN t.heartbeat > now() - 0.75 * l.timeout THEN 'running'
              WHEN t.heartbeat > now() - l.timeout OR t.wake_at <= now() THEN 'held'
              ELSE 'failed' END AS phase
    FROM :"schema".tasks t
   CROSS JOIN LATERAL (SELECT make_interval(secs => coalesce($1::jsonb -> t.task_type::text ->> 'heartbeat_timeout',
                                                             $1::jsonb ->> 'heartbeat_timeout')::float8) AS timeout) AS l
)
SELECT p.phase, count(s.phase) AS n, 'exact' AS precision
  FROM unnest(ARRAY['failed', 'blocked', 'held', 'running', 'ready', 'scheduled']) AS p(phase)
  LEFT JOIN seen s ON s.phase = p.phase
 GROUP BY p.phase
