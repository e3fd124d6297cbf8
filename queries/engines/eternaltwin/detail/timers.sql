-- title: Timers
-- kinds: task
-- needs: timer_by_task
SELECT m.deadline::text AS deadline,
       CASE WHEN NOT isfinite(m.deadline) THEN CASE WHEN m.deadline > now() THEN 'never' ELSE 'always late' END
            WHEN m.deadline > now() THEN 'in ' || date_trunc('second', m.deadline - now())
            ELSE date_trunc('second', now() - m.deadline) || ' late' END AS "when"
  FROM :"schema".task_timer m
 WHERE m.task_id = substr(:id, 6)::uuid
 ORDER BY m.deadline
 LIMIT 100
