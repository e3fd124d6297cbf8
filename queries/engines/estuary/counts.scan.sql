-- Number of tasks by status.
-- needs: task_scan
WITH seen AS (
  SELECT t.wake_at, t.heartbeat, t.heartbeat = '0001-01-01T00:00:00Z'::timestamptz AS idle,
         :heartbeat_timeout_of_kind AS timeout
    FROM :"schema".tasks t
),
\ir parts/statuses.sql
SELECT w.status, count(s.status) AS n, 'exact' AS precision
  FROM unnest(ARRAY['orphaned', 'suspended', 'lapsed', 'reclaimable', 'polling', 'ready', 'sleeping']) AS w(status)
  LEFT JOIN statuses s ON s.status = w.status
 GROUP BY w.status
