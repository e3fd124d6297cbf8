-- untimed: Blocked tasks without a timer that did not change within the threshold lost_wakeup: all of a small table,
-- which is scanned. sizes: the number of tasks of their jobs, at most 1,001, in a large table.
waiting AS MATERIALIZED (
  (SELECT task_id FROM :"schema".task
    WHERE :ids IS NULL AND NOT 'task_scan' = ANY (:met_needs) AND status = 'Blocked' ORDER BY task_id LIMIT 5000)
  UNION ALL
  SELECT task_id FROM :"schema".task
   WHERE task_id = ANY (:task_keys) AND status = 'Blocked'
),
untimed AS MATERIALIZED (
  SELECT t.*
    FROM waiting w
   CROSS JOIN LATERAL (SELECT o.task_id, o.job_id, o.kind, o.revision, (o.polled_at).time AS polled,
                              coalesce((o.polled_at).time, o.created_at) AS since
                         FROM :"schema".task o WHERE o.task_id = w.task_id LIMIT 1) AS t
   WHERE CASE WHEN 'timer_scan' = ANY (:met_needs) THEN w.task_id NOT IN (SELECT m.task_id FROM :"schema".task_timer m)
              ELSE (SELECT m.task_id FROM :"schema".task_timer m WHERE m.task_id = w.task_id LIMIT 1) IS NULL END
     AND t.since < now() - :lost_wakeup_of_kind
  UNION ALL
  SELECT t.*
    FROM (SELECT o.task_id, o.job_id, o.kind, o.revision, (o.polled_at).time AS polled, coalesce((o.polled_at).time, o.created_at) AS since
            FROM :"schema".task o WHERE :ids IS NULL AND 'task_scan' = ANY (:met_needs) AND o.status = 'Blocked') AS t
   WHERE CASE WHEN 'timer_scan' = ANY (:met_needs) THEN t.task_id NOT IN (SELECT m.task_id FROM :"schema".task_timer m)
              ELSE (SELECT m.task_id FROM :"schema".task_timer m WHERE m.task_id = t.task_id LIMIT 1) IS NULL END
     AND t.since < now() - :lost_wakeup_of_kind
),
sizes AS MATERIALIZED (
  SELECT j.job_id, (SELECT count(*) FROM (SELECT FROM :"schema".task t WHERE t.job_id = j.job_id LIMIT 1001) AS o) AS tasks
    FROM (SELECT DISTINCT job_id FROM untimed WHERE NOT 'task_scan' = ANY (:met_needs)) AS j
),
more AS (SELECT (SELECT count(*) FROM waiting) = 5000 AS more),
