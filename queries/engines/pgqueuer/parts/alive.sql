-- Number of workers that beat, as a sentence. A worker without a job does not beat.
alive AS MATERIALIZED (
  SELECT CASE count(DISTINCT o.queue_manager_id) WHEN 0 THEN 'No worker is seen: one without a job leaves no sign of life'
              WHEN 1 THEN 'One worker runs other jobs' ELSE 'Workers that run other jobs: ' || count(DISTINCT o.queue_manager_id) END AS text
    FROM (SELECT j.queue_manager_id FROM :"schema".:"pgqueuer" j
           WHERE j.status = 'picked' AND j.heartbeat >= now() - :heartbeat_timeout
           ORDER BY j.heartbeat LIMIT 1000) AS o
)
