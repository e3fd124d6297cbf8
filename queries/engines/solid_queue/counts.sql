-- Number of jobs in each status, each up to 10,000. Finished jobs are not counted.
-- Indexes: the primary keys of the tables of executions.
SELECT p.status, least(p.n, 10000) AS n, CASE WHEN p.n > 10000 THEN 'capped' ELSE 'exact' END AS precision
  FROM (VALUES ('ready', (SELECT count(*) FROM (SELECT FROM :"schema".solid_queue_ready_executions LIMIT 10001) AS o)),
               ('scheduled', (SELECT count(*) FROM (SELECT FROM :"schema".solid_queue_scheduled_executions LIMIT 10001) AS o)),
               ('claimed', (SELECT count(*) FROM (SELECT FROM :"schema".solid_queue_claimed_executions LIMIT 10001) AS o)),
               ('blocked', (SELECT count(*) FROM (SELECT FROM :"schema".solid_queue_blocked_executions LIMIT 10001) AS o)),
               ('failed', (SELECT count(*) FROM (SELECT FROM :"schema".solid_queue_failed_executions LIMIT 10001) AS o))) AS p(status, n)
UNION ALL
SELECT 'finished', NULL, 'unknown'
