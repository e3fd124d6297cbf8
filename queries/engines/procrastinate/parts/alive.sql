-- Number of living workers, as a sentence.
alive AS MATERIALIZED (
  SELECT CASE count(*) WHEN 0 THEN 'No worker is alive' WHEN 1 THEN 'One worker is alive; its queues are not recorded'
                       ELSE 'Living workers: ' || CASE count(*) WHEN 1000 THEN '1,000 or more' ELSE count(*)::text END || '; their queues are not recorded' END AS text
    FROM (SELECT FROM :"schema".procrastinate_workers w
           WHERE w.last_heartbeat >= now() - :worker_silent LIMIT 1000) AS o
)
