-- Tasks that are not Blocked but still have a timer.
-- Indexes: task_timer_pkey, the first 2,000 timers; task_pkey, once for each timer until the page is full, and not for
-- those that one scan of a small table excludes.
(SELECT 'task:' || m.task_id AS id, extract(epoch FROM m.past)::float8 AS since,
        jsonb_build_object('status', t.status, 'deadline', m.deadline::text, 'timers', m.timers) AS evidence
   FROM (SELECT task_id, min(deadline) AS deadline, min(deadline) FILTER (WHERE deadline <= now()) AS past, count(*) AS timers
           FROM (SELECT task_id, deadline FROM :"schema".task_timer ORDER BY deadline LIMIT 2000) AS first
          WHERE :ids IS NULL OR task_id = ANY (:task_keys)
          GROUP BY task_id
          ORDER BY min(deadline), task_id) AS m
  CROSS JOIN LATERAL (SELECT o.status FROM :"schema".task o WHERE o.task_id = m.task_id LIMIT 1) AS t
  WHERE CASE WHEN 'task_scan' = ANY (:met_needs) THEN m.task_id IN (SELECT b.task_id FROM :"schema".task b WHERE b.status <> 'Blocked') ELSE true END
    AND t.status <> 'Blocked'
  ORDER BY m.deadline, m.task_id
  LIMIT :limit)
UNION ALL
SELECT NULL, NULL, NULL WHERE :ids IS NULL AND EXISTS (SELECT FROM :"schema".task_timer ORDER BY deadline OFFSET 2000)
